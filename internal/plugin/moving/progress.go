package moving

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// Of returns how far a migration is. It reads nothing but the objects, so a second run of the command continues where the first one has ended.
func Of(o Objects) Progress {
	if promoted := promotedOf(o.Restore); promoted != nil {
		return afterPromotion(o, *promoted)
	}
	if o.Backup == nil {
		return Progress{Line: "there is no EtcdBackup yet"}
	}
	if p, asked := ofSwitchover(o); asked {
		return p
	}
	archive := ofArchive(*o.Backup)
	if o.Restore == nil || o.Cluster == nil || archive.Final {
		return archive
	}
	return ofStandby(o, archive)
}

func promotedOf(r *v1beta2.EtcdRestore) *v1beta2.PromotedStatus {
	if r == nil || r.Status.Follow == nil {
		return nil
	}
	return r.Status.Follow.Promoted
}

// ofSwitchover returns how far the source has handed its clients over, if it was asked to.
func ofSwitchover(o Objects) (p Progress, asked bool) {
	on, name := o.Backup.Status.Switchover, "EtcdBackup "+o.Backup.Namespace+"/"+o.Backup.Name
	wanted := o.Backup.Spec.Continuous != nil && o.Backup.Spec.Continuous.Switchover
	switch {
	case on == nil && !wanted:
		return p, false
	case on == nil:
		return Progress{Stage: HandingOver, Line: name + " is about to stop the writes of the source"}, true
	case on.Phase == v1beta2.SwitchoverPromoted && (o.Restore == nil || on.Promoted != o.Restore.Namespace+"/"+o.Restore.Name):
		return Progress{Stage: HandingOver, Final: true, Problem: fmt.Sprintf("the source has handed its clients over to EtcdRestore %s before. It never takes writes again, so move that cluster instead", on.Promoted)}, true
	case on.Phase == v1beta2.SwitchoverPromoted:
		return Progress{Stage: Starting, Line: fmt.Sprintf("the standby has taken over with revision %d", on.Revision)}, true
	case on.Phase == v1beta2.SwitchoverCallingOff, !wanted:
		return Progress{Stage: Following, Line: name + ": " + terminal.OneLine(on.Message)}, true
	case o.Restore == nil:
		return Progress{Stage: HandingOver, Final: true, Problem: fmt.Sprintf("%s refuses the writes of the source already (%s), and there is no standby. Call that off: %s", name, on.Phase, CallOff(*o.Backup))}, true
	}
	if on.Phase == v1beta2.SwitchoverReady && o.Restore.Spec.Follow != nil && o.Restore.Spec.Follow.Promote == v1beta2.FollowPromotePlanned {
		return Progress{Stage: HandingOver, Line: fmt.Sprintf("%s: the source refuses writes after revision %d, and the archive has all of them. The standby takes over", on.Phase, on.Revision)}, true
	}
	return Progress{Stage: HandingOver, Line: fmt.Sprintf("%s: %s", on.Phase, terminal.OneLine(on.Message))}, true
}

// HasTakenOver reports whether a standby has become the cluster.
func HasTakenOver(o Objects) bool {
	return promotedOf(o.Restore) != nil || o.Backup != nil && o.Backup.Status.Switchover != nil && o.Backup.Status.Switchover.Phase == v1beta2.SwitchoverPromoted
}

// TakenByOther reports whether the source has handed its clients over to another EtcdRestore, which cannot be called off.
func TakenByOther(o Objects) bool {
	if o.Backup == nil || !HasTakenOver(o) {
		return false
	}
	p, _ := ofSwitchover(o)
	return p.Final
}

// Withdrawn returns by what the source takes writes again although it was asked to hand its clients over; empty if it does not.
func Withdrawn(o Objects) string {
	const again = "A switchover is called off then, unless the standby was first. Run the command again to see that"
	switch b := o.Backup; {
	case HasTakenOver(o):
		return ""
	case b == nil:
		return "the EtcdBackup of the source was deleted. " + again
	case b.DeletionTimestamp != nil:
		return fmt.Sprintf("EtcdBackup %s/%s is being deleted. %s", b.Namespace, b.Name, again)
	case b.Spec.Continuous != nil && !b.Spec.Continuous.Switchover:
		return "somebody has called the switchover off, so the source takes writes again"
	}
	return ""
}

// ofArchive returns how far the archive of the source is.
func ofArchive(b v1beta2.EtcdBackup) Progress {
	name := "EtcdBackup " + b.Namespace + "/" + b.Name
	ready := meta.FindStatusCondition(b.Status.Conditions, v1beta2.ConditionReady)
	archiving := meta.FindStatusCondition(b.Status.Conditions, v1beta2.ConditionArchiving)
	said := func(c *metav1.Condition) string {
		return fmt.Sprintf("%s: %s. %s", name, c.Reason, terminal.OneLine(c.Message))
	}
	switch {
	case b.Spec.Continuous == nil:
		return Progress{Final: true, Problem: name + " has no continuous archive. Add continuous: {maxLag: 1s} to its spec, or name another one with --backup"}
	case ready == nil || b.Status.ObservedGeneration < b.Generation:
		return Progress{Line: name + " waits for backup-operator"}
	case archiving != nil && archiving.Status == metav1.ConditionTrue:
		return Progress{Stage: Archived, Line: said(archiving)}
	case archiving != nil && archiving.Reason == v1beta2.ReasonArchiveNotSupported:
		return Progress{Line: said(archiving), Problem: said(archiving), Final: true}
	case observed.IsTrue(b.Status.Conditions, v1beta2.ConditionStalled):
		return Progress{Line: said(ready), Problem: said(ready)}
	case archiving != nil && archiving.Reason != v1beta2.ReasonArchiveStarting:
		return Progress{Line: said(archiving)}
	}
	return Progress{Line: said(ready)}
}

// ofStandby returns how far the standby is. It can be handed over to while the archive continues.
func ofStandby(o Objects, archive Progress) Progress {
	r := *o.Restore
	p := Progress{Stage: Following}
	problem := func(name string, conditions []metav1.Condition, kind string) {
		c := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
		if p.Problem == "" && c != nil && observed.IsTrue(conditions, kind) {
			p.Problem = fmt.Sprintf("%s: %s. %s", name, c.Reason, terminal.OneLine(c.Message))
			p.Final = kind == v1beta2.ConditionFailed
		}
	}
	problem("EtcdRestore "+r.Name, r.Status.Conditions, v1beta2.ConditionFailed)
	problem("EtcdRestore "+r.Name, r.Status.Conditions, v1beta2.ConditionStalled)
	problem("EtcdCluster "+o.Cluster.Name, o.Cluster.Status.Conditions, v1beta2.ConditionStalled)
	if p.Line = p.Problem; p.Problem != "" {
		return p
	}
	if archive.Stage < Archived {
		p.Line, p.Problem = "the archive waits. "+archive.Line, archive.Problem
		return p
	}
	following := meta.FindStatusCondition(r.Status.Conditions, v1beta2.ConditionFollowing)
	if p.Line = "the standby has not begun"; following == nil || r.Status.Follow == nil {
		return p
	}
	p.Line = Behind(r.Status.Follow.FollowStatus)
	if following.Status != metav1.ConditionTrue {
		p.Line = terminal.OneLine(following.Message)
	} else if small(r.Status.Follow.FollowStatus) {
		p.Stage = Ready
	}
	return p
}

// small reports whether the lag is below that with which clients wait a few seconds.
func small(f v1beta2.FollowStatus) bool {
	return f.Revision > 0 && f.Cause == "" && f.LagSeconds != nil && time.Duration(*f.LagSeconds)*time.Second < v1beta2.FollowUpdateInterval
}

// Behind returns how far a standby is, as in "the standby has revision 480, and is less than 10s behind the archive".
func Behind(f v1beta2.FollowStatus) string {
	switch {
	case f.Revision == 0:
		return "the standby has not read its first snapshot yet"
	case f.LagSeconds == nil:
		return fmt.Sprintf("the standby has revision %d at least", f.Revision)
	}
	lag := time.Duration(*f.LagSeconds) * time.Second
	return fmt.Sprintf("the standby has revision %d, and is less than %s behind the archive", f.Revision, lag+step(lag))
}

// step is how far the status rounds a lag down.
func step(lag time.Duration) time.Duration {
	if lag >= time.Minute {
		return time.Minute
	}
	return 10 * time.Second
}

// afterPromotion returns how far the new cluster is.
func afterPromotion(o Objects, promoted v1beta2.PromotedStatus) Progress {
	switch {
	case !promoted.Planned:
		return Progress{Stage: Starting, Final: true, Problem: fmt.Sprintf("the standby was promoted with Now, after revision %d. The source has not stopped before, so its later writes are not in the new cluster", promoted.Revision)}
	case o.Cluster == nil:
		return Progress{Stage: Starting, Final: true, Problem: fmt.Sprintf("the standby has taken over with revision %d, and its EtcdCluster does not exist any more", promoted.Revision)}
	case !observed.IsTrue(o.Cluster.Status.Conditions, v1beta2.ConditionAvailable) || o.Cluster.Status.ClusterID == "":
		return Progress{Stage: Starting, Line: fmt.Sprintf("the standby has taken over with revision %d, and starts etcd", promoted.Revision)}
	case !observed.IsTrue(o.Restore.Status.Conditions, v1beta2.ConditionComplete):
		return Progress{Stage: Serving, Line: fmt.Sprintf("EtcdCluster %s serves, and grows to %d members", o.Cluster.Name, o.Cluster.Spec.Size)}
	}
	return Progress{Stage: Complete, Line: fmt.Sprintf("EtcdCluster %s serves with %d members", o.Cluster.Name, o.Cluster.Spec.Size)}
}

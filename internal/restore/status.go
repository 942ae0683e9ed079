package restore

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Status is what the EtcdRestore says after step was done in s. It is pure.
func Status(s State, step Step) v1beta2.EtcdRestoreStatus {
	status := *s.Restore.Status.DeepCopy()
	switch step.(type) {
	case Done, Expire:
		return status
	}
	now := metav1.NewTime(s.Now).Rfc3339Copy()
	status.ObservedGeneration = s.Restore.Generation
	if status.StartTime == nil {
		status.StartTime = &now
	}
	report{status: &status, generation: s.Restore.Generation, now: now}.step(step)
	return status
}

// report writes conditions into a status.
type report struct {
	status     *v1beta2.EtcdRestoreStatus
	generation int64
	now        metav1.Time
}

func (r report) step(step Step) {
	switch step := step.(type) {
	case Verify:
		r.status.Attempts++
		r.status.Percent = 0
		r.verifying()
	case Verifying:
		r.verifying()
		r.status.Percent = step.Percent
	case Wait:
		r.wait(step)
	case Accept:
		r.status.Percent, r.status.Choice = 100, step.Why
		r.status.Source, r.status.Snapshot = &step.Source, &step.Snapshot
		r.status.Reason = ""
		r.open(v1beta2.ReasonVerified, "the snapshot is proven")
	case Follow:
		r.cluster(step.Cluster)
		r.restoring(string(step.Cluster.Step), progressMessage(step.Cluster))
	case Complete:
		r.cluster(step.Cluster)
		r.status.Percent = 100
		r.complete(fmt.Sprintf("the cluster is restored and at its size: etcd cluster %s, revision %d", step.Cluster.ClusterID, step.Cluster.Revision))
	case Fail:
		r.status.ClusterID = ""
		r.fail(step.Reason, step.Message)
	}
}

// verifying keeps what the attempt before said until this one has ended: it is still the best there is to know.
func (r report) verifying() {
	ready := meta.FindStatusCondition(r.status.Conditions, v1beta2.ConditionReady)
	if r.status.Attempts > 1 && ready != nil && r.status.Reason != "" {
		r.open(ready.Reason, ready.Message)
		return
	}
	r.status.Reason = ""
	r.open(v1beta2.ReasonVerifying, "the snapshot is being read and proven")
}

func (r report) wait(step Wait) {
	r.status.Reason = ""
	if step.Failure {
		r.status.Reason = step.Message
	}
	r.open(step.Reason, step.Message)
}

// open: the restore is neither complete nor failed, and no cluster works on it.
func (r report) open(reason, message string) {
	r.set(v1beta2.ConditionReady, false, reason, message)
	r.verified(reason, message)
	r.set(v1beta2.ConditionRestoring, false, v1beta2.ReasonPending, "the cluster has not taken the restore up")
	r.set(v1beta2.ConditionComplete, false, v1beta2.ReasonPending, "the cluster is not restored")
	r.notFailed(reason)
}

func (r report) restoring(step, message string) {
	r.status.Reason = ""
	r.set(v1beta2.ConditionReady, false, step, message)
	r.verified(step, message)
	r.set(v1beta2.ConditionRestoring, true, step, message)
	r.set(v1beta2.ConditionComplete, false, step, "the cluster is not restored yet")
	r.notFailed(step)
}

func (r report) complete(message string) {
	r.status.Succeeded, r.status.Reason = true, ""
	r.status.CompletionTime = &r.now
	r.set(v1beta2.ConditionReady, true, v1beta2.ReasonComplete, message)
	r.verified(v1beta2.ReasonComplete, message)
	r.set(v1beta2.ConditionRestoring, false, v1beta2.ReasonComplete, "the cluster is restored")
	r.set(v1beta2.ConditionComplete, true, v1beta2.ReasonComplete, message)
	r.notFailed(v1beta2.ReasonComplete)
}

func (r report) fail(reason, message string) {
	r.status.Succeeded, r.status.Reason = false, message
	r.status.CompletionTime = &r.now
	r.set(v1beta2.ConditionReady, false, reason, message)
	r.verified(reason, message)
	r.set(v1beta2.ConditionRestoring, false, reason, "the restore failed")
	r.set(v1beta2.ConditionComplete, false, reason, "the restore failed")
	r.set(v1beta2.ConditionFailed, true, reason, message)
	r.set(v1beta2.ConditionStalled, true, reason, message)
}

// verified stays true once the proof is there, whatever comes after.
func (r report) verified(reason, message string) {
	if r.status.Snapshot == nil {
		r.set(v1beta2.ConditionVerified, false, reason, message)
		return
	}
	r.set(v1beta2.ConditionVerified, true, v1beta2.ReasonVerified, fmt.Sprintf(
		"%s holds revision %d, %d keys, %d bytes, sha256 %s", r.status.Snapshot.Path, r.status.Snapshot.Revision, r.status.Snapshot.Keys, r.status.Snapshot.Size, r.status.Snapshot.SHA256)+chosen(r.status.Choice))
}

func chosen(why string) string {
	if why == "" {
		return ""
	}
	return "; it is " + why
}

func (r report) notFailed(reason string) {
	r.set(v1beta2.ConditionFailed, false, reason, "")
	r.set(v1beta2.ConditionStalled, false, reason, "")
}

// cluster copies the facts that the cluster reports.
func (r report) cluster(c v1beta2.ClusterRestoreStatus) {
	r.status.ClusterIDBefore, r.status.ClusterID = c.ClusterIDBefore, c.ClusterID
	r.status.RestoredRevision, r.status.Percent = c.Revision, c.Percent
}

func progressMessage(c v1beta2.ClusterRestoreStatus) string {
	if c.Message != "" {
		return c.Message
	}
	return "the cluster is at step " + string(c.Step)
}

// maxMessage keeps a message, which may hold text from a store or a database, readable and within what an Event takes.
const maxMessage = 1000

func (r report) set(kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&r.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: shorten(message),
		ObservedGeneration: r.generation, LastTransitionTime: r.now,
	})
}

func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

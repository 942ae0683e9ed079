package plan

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// A restore of prefixes never changes the members, so cluster-operator has no part in it: status.source is empty, and without it no version of
// cluster-operator begins a restore. restore-operator compares the keys while it has the verified snapshot, saves the present data, and then writes
// the keys that differ.

// KeysOrder says which keys to compare or to write, and how to reach the cluster.
type KeysOrder struct {
	Prefixes []string
	Prune    bool
	// Write writes what differs from Snapshot. Revision is that of the comparison.
	Write    bool
	Revision int64
	Snapshot v1beta2.Snapshot
	// Cluster has the members and how to reach them.
	Cluster SafetyOrder
}

// Writing is the attempt to write the keys, as far as it is known.
type Writing struct {
	Progress Progress
	// Conflicts are the keys that clients have written since the comparison, and First names some of them.
	Conflicts int64
	First     []string
	// Reason, Message and Final describe the failure if Progress is ProofFailed. Ended is when it failed.
	Reason, Message string
	Final           bool
	Ended           time.Time
}

type (
	// RestoreKeys starts to write the keys, or lets the attempt continue if Start is false.
	RestoreKeys struct {
		Start  bool
		Source v1beta2.RestoreSource
	}
	// CompleteKeys ends a restore of prefixes.
	CompleteKeys struct {
		// Compared is the comparison, without its conflicts.
		Compared  v1beta2.PrefixesStatus
		Conflicts int64
		First     []string
	}
)

// Begins returns whether a step begins an attempt that the status records first, because the attempt may end this process.
func Begins(step Step) bool {
	writes, is := step.(RestoreKeys)
	_, verifies := step.(Verify)
	return verifies || is && writes.Start
}

// restoringKeys is the step of a restore of prefixes in the messages.
const restoringKeys = v1beta2.RestoreStep(v1beta2.ReasonRestoringKeys)

func (RestoreKeys) describe(s State) planning.Description {
	return s.announced(corev1.EventTypeNormal, planning.Description{
		Reason: v1beta2.ReasonRestoringKeys, Message: s.keysMessage(), Requeue: progressInterval,
	})
}

func (s State) keysMessage() string {
	return fmt.Sprintf("The operator writes keys below %s into EtcdCluster %s.", s.prefixes(), s.Restore.Spec.EtcdCluster.Name)
}

func (c CompleteKeys) describe(s State) planning.Description {
	kind := corev1.EventTypeNormal
	message := fmt.Sprintf("The keys below %s are restored into EtcdCluster %s: %s.", s.prefixes(), s.Restore.Spec.EtcdCluster.Name, Differences(c.Compared))
	if c.Conflicts > 0 {
		kind = corev1.EventTypeWarning
		message += fmt.Sprintf(" Of these, %d keys were not changed, because clients have written them since revision %d: %s. If you want them as they are in the snapshot, "+
			"create another EtcdRestore.", c.Conflicts, c.Compared.Revision, strings.Join(c.First, ", "))
	}
	return s.announced(kind, planning.Description{Reason: v1beta2.ReasonComplete, Message: message})
}

// Differences counts the keys of a comparison in words.
func Differences(p v1beta2.PrefixesStatus) string {
	text := fmt.Sprintf("%d to create, %d to change, %d to delete; %d are the same", p.Created, p.Changed, p.Deleted, p.Unchanged)
	if p.Kept > 0 {
		text += fmt.Sprintf(", %d are not in the snapshot and are kept", p.Kept)
	}
	if p.Leased > 0 {
		text += fmt.Sprintf(", %d have a lease and are left as they are", p.Leased)
	}
	return text
}

// ofPrefixes returns whether only some keys are restored.
func (s State) ofPrefixes() bool { return len(s.Restore.Spec.Prefixes) > 0 }

// prefixes returns the prefixes of the spec for a message.
func (s State) prefixes() string {
	var quoted []string
	for _, prefix := range s.Restore.Spec.Prefixes {
		quoted = append(quoted, fmt.Sprintf("%q", prefix))
	}
	return planning.Shorten(strings.Join(quoted, ", "), maxPrefixes)
}

const maxPrefixes = 200

// keysOrder returns which keys to compare with the snapshot that is read; nil if the whole cluster is restored.
func (s State) keysOrder() *KeysOrder {
	if !s.ofPrefixes() || s.Cluster == nil {
		return nil
	}
	return &KeysOrder{
		Prefixes: s.Restore.Spec.Prefixes, Prune: s.Restore.Spec.Prune,
		Cluster: s.ownMembers(s.Cluster.Status.ClusterID),
	}
}

// ownMembers returns how to reach the members for writes. A status that somebody else has written may name the members of another namespace, so only
// hosts below the Service of this cluster count. The DNS domain behind them is left out: the resolver of the operator adds that of this Kubernetes, and a
// tenant may write any other into spec.pod.ClusterDomain.
func (s State) ownMembers(id string) SafetyOrder {
	o := s.members(id)
	if s.AnyMember {
		return o
	}
	of := "." + s.Cluster.Name + "." + s.Cluster.Namespace + ".svc"
	var own []string
	for _, text := range o.URLs {
		found, err := url.Parse(text)
		if err != nil {
			continue
		}
		host, domain, is := strings.Cut(found.Hostname(), of)
		if is && host != "" && !strings.Contains(host, ".") && (domain == "" || domain[0] == '.') {
			own = append(own, found.Scheme+"://"+host+of+":"+found.Port())
		}
	}
	o.URLs = own
	return o
}

// KeysOrder returns which keys to write, after the comparison.
func (s State) KeysOrder() *KeysOrder {
	o, compared := s.keysOrder(), s.Restore.Status.Prefixes
	o.Write, o.Revision, o.Snapshot = true, compared.Revision, *s.Restore.Status.Snapshot
	o.Cluster = s.ownMembers(compared.ClusterID)
	return o
}

// members returns how to reach the members of the cluster with that ID.
func (s State) members(id string) SafetyOrder {
	o := SafetyOrder{
		AuthSecret: s.Cluster.Status.OperatorAuthSecret, TLSSecret: cmp.Or(s.Cluster.Status.OperatorTLSSecret, s.Cluster.Status.ClientTLSSecret),
		Namespace: s.Cluster.Namespace, Cluster: s.Cluster.Name, UID: string(s.Cluster.UID), ClusterID: id,
	}
	for _, m := range s.Cluster.Status.MemberStatuses {
		if m.ClientURL != "" {
			o.URLs = append(o.URLs, m.ClientURL)
		}
	}
	return o
}

// keysProgress is what cluster-operator would report about a restore of prefixes, so that the present data is saved like that of any other restore.
func (s State) keysProgress() *v1beta2.ClusterRestoreStatus {
	compared := s.Restore.Status.Prefixes
	if compared == nil || !s.Proven() {
		return nil
	}
	return &v1beta2.ClusterRestoreStatus{
		UID: s.Restore.UID, Name: s.Restore.Name, Step: restoringKeys, Message: s.keysMessage(),
		SeedReadyTime: &compared.Time, ClusterID: compared.ClusterID, ClusterIDBefore: compared.ClusterID,
	}
}

// prefixesNeedARunningCluster: keys are compared with those of a cluster that serves, and that no other restore replaces.
func prefixesNeedARunningCluster(s State) Step {
	if !s.ofPrefixes() || s.Writing.Progress == ProofDone {
		return nil
	}
	begun := func(p Progress) bool { return p != ProofNone && p != ProofFailed }
	if s.Cluster != nil && (begun(s.Writing.Progress) || begun(s.Proof.Progress) || begun(s.Safety.Progress)) {
		return nil
	}
	name := s.Restore.Spec.EtcdCluster.Name
	wait := func(reason, message string, values ...any) Step {
		return Wait{Patient: true, Reason: reason, Message: fmt.Sprintf(message, append([]any{name}, values...)...)}
	}
	switch {
	case s.Cluster == nil:
		return wait(v1beta2.ReasonWaitingForCluster, "The keys are restored into a running cluster, and there is no EtcdCluster %s in namespace %s. Create it, or remove prefixes to restore the whole cluster.", s.Restore.Namespace)
	case s.Cluster.Spec.Paused:
		return wait(v1beta2.ReasonPending, "EtcdCluster %s is paused. Set its spec.paused to false to restore the keys.")
	case s.Cluster.Spec.Hibernate:
		return wait(v1beta2.ReasonPending, "EtcdCluster %s hibernates. Set its spec.hibernate to false to restore the keys.")
	case s.Cluster.Spec.ReadOnly && !s.Restore.Spec.DryRun:
		return wait(v1beta2.ReasonPending, "EtcdCluster %s is read-only. Set its spec.readOnly to false to restore the keys.")
	case s.Ahead != "":
		return wait(v1beta2.ReasonQueued, "EtcdCluster %s is restored by EtcdRestore %s first. If you do not want both, delete one of them.", s.Ahead)
	case s.Cluster.Status.ClusterID == "" || len(s.ownMembers("").URLs) == 0:
		return Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: fmt.Sprintf("EtcdCluster %s has no member that serves yet.", name)}
	}
	return nil
}

// keysAreNotRestored writes the keys after the comparison.
func keysAreNotRestored(s State) Step {
	if !s.ofPrefixes() || !s.Proven() {
		return nil
	}
	compared := s.Restore.Status.Prefixes
	if now := s.clusterID(); now != "" && now != compared.ClusterID {
		return Fail{Reason: v1beta2.ReasonRestoreRefused, Message: fmt.Sprintf(
			"EtcdCluster %s was restored since its keys were compared: its etcd cluster has the ID %s, and had %s. Some keys may have been written before. Create another EtcdRestore.",
			s.Restore.Spec.EtcdCluster.Name, now, compared.ClusterID)}
	}
	if s.recoveredSince(compared.Time) {
		return Fail{Reason: v1beta2.ReasonRestoreRefused, Message: fmt.Sprintf(
			"EtcdCluster %s was recovered from a lost quorum since its keys were compared at revision %d. It may have lost writes, so that revision may have other keys now. "+
				"Some keys may have been written before. Create another EtcdRestore.", s.Restore.Spec.EtcdCluster.Name, compared.Revision)}
	}
	start := RestoreKeys{Start: true, Source: *compared.Source}
	switch s.Writing.Progress {
	case ProofQueued, ProofRunning:
		return RestoreKeys{Source: *compared.Source}
	case ProofDone:
		return CompleteKeys{Compared: *compared, Conflicts: s.Writing.Conflicts, First: s.Writing.First}
	case ProofFailed:
		return s.writeAgain(start)
	case ProofNone:
	}
	if pause := s.afterInterruption(); pause != nil {
		return pause
	}
	return start
}

// keysAreNotSaved ends a restore that requires a safety snapshot, if none can be taken for as long as cluster-operator waits for that of a whole cluster.
func (s State) keysAreNotSaved(asked metav1.Time) Step {
	if !s.ofPrefixes() || !s.Restore.Spec.SafetySnapshotPolicy().Requires() || !s.waitedFor(asked, v1beta2.SafetySnapshotLimit) {
		return nil
	}
	return Fail{Reason: v1beta2.ReasonSeedFailed, Message: planning.Sentence("No key was written, because the safety snapshot could not be taken within "+
		v1beta2.SafetySnapshotLimit.String()+": ", s.Safety.Message) + " Correct the cause, and create another EtcdRestore."}
}

// waitedFor reports whether that long has passed since the comparison, or the comparison is ahead of now: the clock of this operator was wrong.
func (s State) waitedFor(asked metav1.Time, limit time.Duration) bool {
	return clock.Due(asked.Add(limit), limit, s.Now)
}

func (s State) clusterID() string {
	if s.Cluster == nil {
		return ""
	}
	return s.Cluster.Status.ClusterID
}

// writeAgain writes again after a pause that grows, unless the failure is final.
func (s State) writeAgain(start RestoreKeys) Step {
	failed := s.Writing
	if failed.Final {
		return Fail{Reason: failed.Reason, Message: failed.Message}
	}
	next := failed.Ended.Add(backoff(s.Restore.Status.Attempts, problem.Longest(failed.Reason)))
	if !s.Now.Before(next) {
		return start
	}
	return Wait{
		Reason: failed.Reason, Message: failed.Message + " The next attempt is at " + next.UTC().Format(time.RFC3339) + ".",
		Failure: true, Requeue: next.Sub(s.Now), Stalled: needsPerson(failed.Reason, s.Restore.Status.Attempts), Patient: true,
	}
}

// comparedKeys reports the comparison of a dry run or before the keys are written.
func (r report) comparedKeys(of *v1beta2.PrefixesStatus, source *v1beta2.RestoreSource) {
	if of == nil {
		return
	}
	r.status.Prefixes = of.DeepCopy()
	r.status.Prefixes.Source = source
}

// writing reports that keys are written. A new attempt is counted.
func (r report) writing(s State, step RestoreKeys, d planning.Description) {
	if step.Start {
		r.status.Attempts++
	}
	r.restoring(s, d)
}

// completeKeys reports the end of a restore of prefixes.
func (r report) completeKeys(step CompleteKeys, d planning.Description) {
	r.status.Prefixes = step.Compared.DeepCopy()
	r.status.Prefixes.Conflicts = step.Conflicts
	for _, name := range step.First {
		r.status.Prefixes.First = append(r.status.Prefixes.First, "conflict "+name)
	}
	r.status.Percent = 100
	r.complete(d)
}

package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// A restore of prefixes never changes the members, so cluster-operator has no part in it: status.source is empty, and without it no version of
// cluster-operator begins a restore. restore-operator compares the keys while it has the verified snapshot, saves the present data, and then writes
// the keys that differ.

// Begins returns whether a step begins an attempt that the status records first, because the attempt may end this process.
func Begins(step steps.Step) bool {
	writes, is := step.(steps.RestoreKeys)
	_, verifies := step.(steps.Verify)
	return verifies || is && writes.Start
}

// prefixesNeedARunningCluster: keys are compared with those of a cluster that serves, and that no other restore replaces.
func prefixesNeedARunningCluster(s state.State) steps.Step {
	if !s.OfPrefixes() || s.Writing.Progress == state.ProofDone {
		return nil
	}
	begun := func(p state.Progress) bool { return p != state.ProofNone && p != state.ProofFailed }
	if s.Cluster != nil && (begun(s.Writing.Progress) || begun(s.Proof.Progress) || begun(s.Safety.Progress)) {
		return nil
	}
	name := s.Restore.Spec.EtcdCluster.Name
	wait := func(reason, message string, values ...any) steps.Step {
		return steps.Wait{Patient: true, Reason: reason, Message: fmt.Sprintf(message, append([]any{name}, values...)...)}
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
	case s.Cluster.Status.ClusterID == "" || len(state.OwnMembers(s, "").URLs) == 0:
		return steps.Wait{Reason: v1beta2.ReasonWaitingForCluster, Message: fmt.Sprintf("EtcdCluster %s has no member that serves yet.", name)}
	}
	return nil
}

// keysAreNotRestored writes the keys after the comparison.
func keysAreNotRestored(s state.State) steps.Step {
	if !s.OfPrefixes() || !s.Proven() {
		return nil
	}
	compared := s.Restore.Status.Prefixes
	if now := clusterID(s); now != "" && now != compared.ClusterID {
		return steps.Fail{Reason: v1beta2.ReasonRestoreRefused, Message: fmt.Sprintf(
			"EtcdCluster %s was restored since its keys were compared: its etcd cluster has the ID %s, and had %s. Some keys may have been written before. Create another EtcdRestore.",
			s.Restore.Spec.EtcdCluster.Name, now, compared.ClusterID)}
	}
	if recoveredSince(s, compared.Time) {
		return steps.Fail{Reason: v1beta2.ReasonRestoreRefused, Message: fmt.Sprintf(
			"EtcdCluster %s was recovered from a lost quorum since its keys were compared at revision %d. It may have lost writes, so that revision may have other keys now. "+
				"Some keys may have been written before. Create another EtcdRestore.", s.Restore.Spec.EtcdCluster.Name, compared.Revision)}
	}
	start := steps.RestoreKeys{Start: true, Source: *compared.Source}
	switch s.Writing.Progress {
	case state.ProofQueued, state.ProofRunning:
		return steps.RestoreKeys{Source: *compared.Source}
	case state.ProofDone:
		return steps.CompleteKeys{Compared: *compared, Conflicts: s.Writing.Conflicts, First: s.Writing.First}
	case state.ProofFailed:
		return writeAgain(s, start)
	case state.ProofNone:
	}
	if pause := afterInterruption(s); pause != nil {
		return pause
	}
	return start
}

func clusterID(s state.State) string {
	if s.Cluster == nil {
		return ""
	}
	return s.Cluster.Status.ClusterID
}

// keysAreNotSaved ends a restore that requires a safety snapshot, if none can be taken for as long as cluster-operator waits for that of a whole cluster.
func keysAreNotSaved(s state.State, asked metav1.Time) steps.Step {
	if !s.OfPrefixes() || !s.Restore.Spec.SafetySnapshotPolicy().Requires() || !s.WaitedFor(asked, v1beta2.SafetySnapshotLimit) {
		return nil
	}
	return steps.Fail{Reason: v1beta2.ReasonSeedFailed, Message: planning.Sentence("No key was written, because the safety snapshot could not be taken within "+
		v1beta2.SafetySnapshotLimit.String()+": ", s.Safety.Message) + " Correct the cause, and create another EtcdRestore."}
}

// writeAgain writes again after a pause that grows, unless the failure is final.
func writeAgain(s state.State, start steps.RestoreKeys) steps.Step {
	failed := s.Writing
	if failed.Final {
		return steps.Fail{Reason: failed.Reason, Message: failed.Message}
	}
	next := failed.Ended.Add(backoff(s.Restore.Status.Attempts, problem.Longest(failed.Reason)))
	if !s.Now.Before(next) {
		return start
	}
	return steps.Wait{
		Reason: failed.Reason, Message: failed.Message + " The next attempt is at " + next.UTC().Format(time.RFC3339) + ".",
		Failure: true, Requeue: next.Sub(s.Now), Stalled: needsPerson(failed.Reason, s.Restore.Status.Attempts), Patient: true,
	}
}

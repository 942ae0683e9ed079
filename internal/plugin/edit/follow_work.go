package edit

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
	"github.com/etcd-suite/etcd-operator/internal/plugin/terminal"
)

// FollowBackup returns the progress of a one-shot EtcdBackup.
func FollowBackup(b v1beta2.EtcdBackup) Step {
	step := work("EtcdBackup "+b.Name, b.Status.Conditions, v1beta2.ConditionComplete)
	if p := b.Status.Progress; p != nil && !step.Done {
		step.Line = fmt.Sprintf("%s %s %s", bar(p.Percent), p.Stage, speed(p.BytesPerSecond))
	}
	if s := b.Status.Snapshot; s != nil && step.Done && !step.Failed {
		step.Line = fmt.Sprintf("EtcdBackup %s is complete: %s, revision %d, %s", b.Name, s.Path, s.Revision, terminal.Bytes(s.Size))
	}
	return step
}

// FollowRequest returns the progress of a snapshot that the annotation backup-now asked a series for.
func FollowRequest(b v1beta2.EtcdBackup, request string) Step {
	if s := b.Status.Snapshot; s != nil && b.Status.HandledRequest == request {
		return Step{Line: fmt.Sprintf("EtcdBackup %s has saved %s, revision %d, %s", b.Name, s.Path, s.Revision, terminal.Bytes(s.Size)), Done: true}
	}
	step := FollowBackup(b)
	step.Done = step.Failed // Complete is about the snapshots before
	return step
}

// FollowRestore returns the progress of an EtcdRestore.
func FollowRestore(r v1beta2.EtcdRestore) Step {
	step := work("EtcdRestore "+r.Name, r.Status.Conditions, v1beta2.ConditionComplete)
	if r.Spec.DryRun && observed.HasReason(r.Status.Conditions, v1beta2.ReasonDryRun) {
		step.Done, step.Failed = true, false
	}
	if !step.Done {
		step.Line = bar(r.Status.Percent) + " " + step.Line
	}
	return step
}

func work(object string, conditions []metav1.Condition, complete string) Step {
	ready := meta.FindStatusCondition(conditions, v1beta2.ConditionReady)
	if ready == nil {
		return Step{Line: object + " waits for its operator"}
	}
	step := Step{Line: fmt.Sprintf("%s: %s. %s", object, ready.Reason, terminal.OneLine(ready.Message))}
	step.Failed = observed.IsTrue(conditions, v1beta2.ConditionFailed)
	step.Done = step.Failed || observed.IsTrue(conditions, complete)
	return step
}

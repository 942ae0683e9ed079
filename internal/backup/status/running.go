package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// running reports an attempt that runs, or that starts in this pass.
type running struct {
	*reporter
	attempt state.Attempt
	d       planning.Description
}

func (r running) report() {
	switch r.attempt.Kind {
	case state.KindDrill:
		r.test()
	case state.KindPrune:
		r.prune()
	case state.KindPurge:
		r.purge()
	default:
		r.snapshot()
	}
}

// snapshot keeps what was reported about the attempt before, until this one has ended.
func (r running) snapshot() {
	number := r.attempt.Number
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = number, state.Second(r.attempt.StartedAt), nil
	r.progress()
	r.True(v1beta2.ConditionRunning, r.d.Reason, r.d.Message)
	r.False(v1beta2.ConditionComplete, r.d.Reason, "")
	if number == 1 {
		r.NotFailed(r.d.Reason)
	}
	before := r.Find(v1beta2.ConditionReady)
	switch {
	case before != nil && r.s.Series() && before.Status == metav1.ConditionTrue:
		r.Set(v1beta2.ConditionReady, before.Status, before.Reason, before.Message)
	case before == nil || number == 1:
		r.False(v1beta2.ConditionReady, r.d.Reason, "The operator is taking the snapshot.")
	}
}

// test shows the progress of a restore test. It keeps all other conditions.
func (r running) test() {
	r.progress()
	r.True(v1beta2.ConditionRunning, r.d.Reason, r.d.Message)
}

// prune reports that old snapshots of a suspended series are being deleted. It keeps all other conditions.
func (r running) prune() {
	r.out.LastPruneTime = state.Second(r.attempt.StartedAt)
	r.True(v1beta2.ConditionRunning, r.d.Reason, r.d.Message)
}

// purge reports that the snapshots of a deleted EtcdBackup are being deleted.
func (r running) purge() {
	r.out.Attempts, r.out.LastAttemptTime, r.out.NextTime = r.attempt.Number, state.Second(r.attempt.StartedAt), nil
	r.False(v1beta2.ConditionReady, r.d.Reason, r.d.Message)
}

// progress is for scripts and for the columns of kubectl get.
func (r running) progress() {
	p := r.attempt.Progress
	out := &v1beta2.BackupProgress{Stage: p.Stage, Bytes: p.Bytes, TotalBytes: p.About, BytesPerSecond: p.PerSecond}
	if p.Stage == "" {
		out.Stage = state.StageQueued
	}
	if p.About > 0 {
		out.Percent = int32(min(p.Bytes*100/p.About, 99)) // at most 99
	}
	r.out.Progress = out
}

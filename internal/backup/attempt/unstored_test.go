package attempt_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// A series with a continuous archive, and without a schedule of restore tests: each snapshot is tested for the proof. The newest one differs from the
// cluster, and the store fails for a moment when the result is written. If the status recorded the failed test, no further one would be due.
// The store never learns that the snapshot is bad.
func TestAFailedRestoreTestThatWasNotStoredIsRepeated(t *testing.T) {
	w := attempttest.NewWorld(t)
	store := objstoretest.NewFaulty(w.Store)
	store.Refuses = func(key string) bool { return snapshot.IsVerdict(key) }
	w.Store = store
	attempttest.Drilling(w, proof.RestoreTestResult{}, proof.ErrDiffers)
	s := statetest.ArchivingState(t, statetest.Later)
	w.Now = statetest.At(s.Now)
	step, _ := plan.Plan(s)
	drill, ok := step.(plan.Drill)
	if !ok {
		t.Fatalf("%#v", step)
	}
	o := state.JobSpecOf(s)
	o.Kind = state.KindDrill
	r := w.Run(t.Context(), o, &queue.Progress{})
	if r.Failure == nil {
		t.Fatal("the result was stored")
	}
	s.Attempt = &state.Attempt{Kind: state.KindDrill, Generation: s.Generation, Number: drill.Number, Result: &r}
	s.Status = status.NewStatus(s, plan.Report{}, nil)
	s.Attempt = nil
	s.Now = s.Now.Add(20 * time.Minute)
	if step, rule := plan.Plan(s); step != (plan.Drill{Number: 2, Path: s.Status.Snapshot.Path}) {
		t.Errorf("20 minutes later, rule %s gives %#v: the result is never stored", rule, step)
	}
}

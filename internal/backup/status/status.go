// Package status computes the status of an EtcdBackup, and the events about it, from a State, a Step and an error. It is pure.
package status

import (
	"errors"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// NewStatus returns the status after the step. err is the error of the step's effect. What the step does not concern
// is kept. NewStatus is pure.
func NewStatus(s state.State, step plan.Step, err error) v1beta2.EtcdBackupStatus {
	r := newReporter(s, s.Status.DeepCopy())
	if s.Fresh() {
		r.out.Attempts, r.out.NextTime = 0, nil
	}
	if s.NeverRan() {
		r.out.Attempts--
	}
	r.out.ObservedGeneration, r.out.Progress = s.Generation, nil
	switch refused := Refusal(""); {
	case errors.As(err, &refused):
		r.False(v1beta2.ConditionReady, v1beta2.ReasonObjectRefused, refused.Error())
		r.True(v1beta2.ConditionStalled, v1beta2.ReasonObjectRefused, refused.Error())
	case err != nil:
		r.False(v1beta2.ConditionReady, v1beta2.ReasonRetrying, err.Error())
	default:
		r.apply(step, plan.Describe(step, s))
	}
	r.nameStore()
	secondLocation{r}.snapshots()
	r.archive()
	r.out.Switchover = nextSwitchover(s)
	secondLocation{r}.archive()
	tests{r}.failSnapshot()
	tests{r}.failArchive()
	r.fill()
	r.out.SnapshotSize = sizeText(r.out.Snapshot)
	return *r.out
}

// nameStore completes a status of an earlier version. If the spec has changed since then, it is not known which store has the snapshot.
func (r *reporter) nameStore() {
	if r.out.Snapshot != nil && r.out.SnapshotStore == "" && !r.s.Fresh() && r.s.Problem == nil {
		r.out.SnapshotStore = r.s.Target.Store()
	}
}

func (r *reporter) apply(step plan.Step, d planning.Description) {
	switch step := step.(type) {
	case plan.Idle, plan.RemoveFinalizer, plan.Hold, plan.Release, plan.Expire: // they change metadata only
	case plan.Cancel:
		r.False(v1beta2.ConditionRunning, d.Reason, d.Message)
	case plan.Refuse:
		r.failed(state.Failure{Reason: d.Reason, Message: d.Message})
	case plan.Wait:
		r.pending(d)
		r.stalledIf(!step.Patient && planning.NotReadyLeft(r.s.Status.Conditions, r.s.Now) == 0, d.Reason, d.Message)
	case plan.Backoff:
		r.backoff(step, d)
	case plan.Scheduled:
		tests{r}.interrupted(step.Drill)
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.scheduled(step.At, "", d)
	case plan.Finished:
		tests{r}.interrupted(step.Drill)
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.finished(step, d)
	case plan.Suspended:
		r.suspended(d)
	case plan.Copy:
		secondLocation{r}.starts(step.Number)
	case plan.CancelCopy:
	case plan.ReportCopy:
		secondLocation{r}.ended(*r.s.Copy, d)
	case plan.Watch:
		running{r, *r.s.Attempt, d}.report()
	case plan.Report:
		ended{r, *r.s.Attempt, d}.report()
	case plan.Prune, plan.Purge, plan.Drill, plan.TakeSnapshot:
		r.starts(step, d)
	}
}

// starts reports an attempt that starts like one that runs.
func (r *reporter) starts(step plan.Step, d planning.Description) {
	a := state.Attempt{StartedAt: r.s.Now}
	switch step := step.(type) {
	case plan.Prune:
		a.Kind = state.KindPrune
	case plan.Purge:
		a.Kind, a.Number = state.KindPurge, step.Number
	case plan.Drill:
		// Until its end is reported, the test counts as one that could not be carried out.
		r.out.DrillAttempts, r.out.NextDrillTime = step.Number, state.Second(r.s.Now.Add(plan.TestDelay(step.Number)))
		a.Kind = state.KindDrill
	case plan.TakeSnapshot:
		a.Number = step.Number
		if !r.s.Full { // else it is queued
			a.Progress.Stage = "starting"
		}
	}
	running{r, a, d}.report()
}

// Package status computes the status of an EtcdBackup, and the events about it, from a State, a Step and an error. It is pure.
package status

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// NewStatus returns the status after the step. err is the error of the step's effect. What the step does not concern
// is kept. NewStatus is pure.
func NewStatus(s state.State, step plan.Step, err error) v1beta2.EtcdBackupStatus {
	r := reporter{s: s, out: *s.Status.DeepCopy()}
	if s.Fresh() {
		r.out.Attempts, r.out.NextTime = 0, nil
	}
	if s.NeverRan() {
		r.out.Attempts--
	}
	r.out.ObservedGeneration, r.out.Progress = s.Generation, nil
	switch refused := Refusal(""); {
	case errors.As(err, &refused):
		r.ready(metav1.ConditionFalse, v1beta2.ReasonObjectRefused, refused.Error())
		r.set(v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonObjectRefused, refused.Error())
	case err != nil:
		r.ready(metav1.ConditionFalse, v1beta2.ReasonRetrying, err.Error())
	default:
		r.apply(step, plan.Describe(step, s))
	}
	r.nameStore()
	r.secondLocation()
	r.archive()
	r.out.Switchover = nextSwitchover(s)
	r.archiveCopy()
	r.failTestedSnapshot()
	r.failDisprovenArchive()
	r.fill()
	r.out.SnapshotSize = sizeText(r.out.Snapshot)
	return r.out
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
		r.set(v1beta2.ConditionRunning, metav1.ConditionFalse, d.Reason, d.Message)
	case plan.Refuse:
		r.failed(state.Failure{Reason: d.Reason, Message: d.Message})
	case plan.Wait:
		r.pending(d)
		r.stalledIf(!step.Patient && planning.NotReadyLeft(r.s.Status.Conditions, r.s.Now) == 0, d.Reason, d.Message)
	case plan.Backoff:
		r.backoff(step, d)
	case plan.Scheduled:
		r.interruptedTest(step.Drill)
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.scheduled(step.At, "", d)
	case plan.Finished:
		r.interruptedTest(step.Drill)
		r.out.NextDrillTime = secondOrNil(step.Drill)
		r.finished(step, d)
	case plan.Suspended:
		r.suspended(d)
	case plan.Copy:
		r.copyStarts(step.Number)
	case plan.CancelCopy:
	case plan.ReportCopy:
		r.copyEnded(*r.s.Copy, d)
	case plan.Prune:
		r.pruning(r.s.Now, d)
	case plan.Purge:
		r.purging(step.Number, r.s.Now, d)
	case plan.Drill:
		// Until its end is reported, the test counts as one that could not be carried out.
		r.out.DrillAttempts, r.out.NextDrillTime = step.Number, state.Second(r.s.Now.Add(plan.TestDelay(step.Number)))
		r.testing(state.Progress{}, d)
	case plan.TakeSnapshot:
		p := state.Progress{Stage: "starting"}
		if r.s.Full {
			p.Stage = "" // it is queued
		}
		r.running(step.Number, r.s.Now, p, d)
	case plan.Watch:
		r.watch(*r.s.Attempt, d)
	case plan.Report:
		r.ended(*r.s.Attempt, d)
	}
}

package status

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// New returns the status after the step. err is the error of the step's effect: the status says it, and is otherwise left as it is, because the
// next pass repeats the step. NewStatus is pure.
func New(s state.State, step steps.Step, err error) v1beta2.EtcdRestoreStatus {
	status := *s.Restore.Status.DeepCopy()
	if final(step) {
		return status
	}
	r := newReport(s, &status)
	if err != nil {
		r.False(v1beta2.ConditionReady, v1beta2.ReasonRetrying, err.Error())
		return status
	}
	status.ObservedGeneration = s.Restore.Generation
	if status.StartTime == nil {
		status.StartTime = &r.Now
	}
	r.step(s, step)
	r.following(s)
	return status
}

// final returns whether the restore had ended before the step, which then changes nothing in the status.
func final(step steps.Step) bool {
	_, done := step.(steps.Done)
	_, expired := step.(steps.Expire)
	return done || expired
}

func (r report) step(s state.State, step steps.Step) {
	d := step.Describe(s)
	r.attempt(s, step)
	switch step := step.(type) {
	case steps.Done, steps.Expire, steps.RenewURL:
	case steps.RecordURL:
		r.status.SignedURL = &step.URL
	case steps.Verify:
		r.status.Attempts++
		r.status.Percent = 0
		r.verifying(s, d)
	case steps.Verifying:
		r.verifying(s, d)
		r.status.Percent = step.Percent
	case steps.Wait:
		r.waiting(s, step, d)
	case steps.Interrupted:
		r.interrupted(d)
	case steps.Accept:
		r.accepted(s, step, d)
	case steps.Proved:
		r.proved(step, d)
	case steps.Follow:
		r.status.ArchivedRevision = max(r.status.ArchivedRevision, archivedBefore(s, step.Cluster))
		r.switchedUnsaved(s, step.Cluster)
		r.follow(s, step.Cluster, d)
	case steps.SaveOldData:
		r.follow(s, step.Cluster, d)
	case steps.RecordSafety:
		r.cluster(step.Cluster)
		r.status.SafetySnapshot = &step.Snapshot
		r.restoring(s, d)
	case steps.RestoreKeys:
		r.writing(s, step, d)
	case steps.CompleteKeys:
		r.completeKeys(step, d)
	case steps.Complete:
		r.cluster(step.Cluster)
		r.switchedUnsaved(s, step.Cluster)
		r.status.Percent = 100
		r.complete(d)
	case steps.Inherit:
		r.complete(d)
	case steps.Fail:
		r.status.ClusterID = ""
		r.fail(d)
	}
}

// accepted reports a verified snapshot. If the status was lost in the middle of the restore, it also reports the safety snapshot again.
func (r report) accepted(s state.State, step steps.Accept, d planning.Description) {
	r.status.Percent, r.status.Choice, r.status.Volume = 100, step.ChosenBecause, step.Volume
	if step.Volume == nil {
		r.status.Snapshot, r.status.PointInTime = &step.Snapshot, step.Point
	}
	if step.Volume != nil {
		r.status.Percent = 0 // the seed has yet to read it
	} else if s.OfPrefixes() {
		r.comparedKeys(step.Keys, &step.Source)
	} else {
		r.status.Source, r.status.SignedURL = &step.Source, step.SignedURL
		if step.Follow != nil { // an earlier version of cluster-operator would restore a source once
			r.status.Follow, r.status.Source = step.Follow.DeepCopy(), nil
		}
	}
	r.status.Reason = ""
	if cluster := s.Progress(); cluster != nil {
		r.switchedUnsaved(s, *cluster)
	}
	r.open(d)
}

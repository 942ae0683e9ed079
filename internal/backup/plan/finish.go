package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Expire deletes a one-shot whose time to live is over.
	Expire struct{}
	// Drill starts a restore test: it reads the snapshot of that path back and restores it into scratch space.
	Drill struct {
		Number int32
		Path   string
	}
	// Finished does nothing for a one-shot that has ended, until a restore test is due (Drill) or its time to live is
	// over (Until). A zero time never comes.
	Finished struct {
		Complete     bool
		Drill, Until time.Time
	}
)

func (Expire) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonComplete,
		Message: "The operator deletes the EtcdBackup, because its ttlSecondsAfterFinished is over.",
		Events: []planning.Event{NewEvent(corev1.EventTypeNormal, "Expired", actionExpire,
			"The operator deleted the EtcdBackup, because its ttlSecondsAfterFinished is over.")},
	}
}

func (Drill) describe(state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonVerifying, Message: state.Progress{}.String(), Requeue: progressInterval}
}

func (f Finished) describe(s state.State) planning.Description {
	d := planning.Description{
		Reason: v1beta2.ReasonComplete, Message: "The EtcdBackup has ended.",
		Requeue: sleep(s.Now, f.Drill, f.Until),
	}
	if f.Complete && s.Status.Snapshot != nil {
		d.Message = contents(*s.Status.Snapshot)
	}
	return d
}

func timeToLiveIsOver(s state.State) Step {
	at := expiry(s)
	if at.IsZero() || s.Now.Before(at) {
		return nil
	}
	return Expire{}
}

// expiry is when a one-shot that has ended is to be deleted. It is zero if the EtcdBackup is kept.
func expiry(s state.State) time.Time {
	ended := s.Ended()
	if ended == "" || s.Spec.TTLSecondsAfterFinished == nil || s.ClocksDiffer {
		return time.Time{} // while the clocks differ, nobody knows whether the time is over
	}
	since := meta.FindStatusCondition(s.Status.Conditions, ended).LastTransitionTime.Time
	return since.Add(time.Duration(*s.Spec.TTLSecondsAfterFinished) * time.Second)
}

// restoreTestIsDue tests the newest snapshot when the test is due and no snapshot is.
func restoreTestIsDue(s state.State) Step {
	at := TestTurn(s)
	if at.IsZero() || s.Now.Before(at) || s.Retrying() || s.Suspended() || s.Refused != nil {
		return nil
	}
	if s.Series() && !s.Now.Before(SnapshotTurn(s)) || !s.Series() && s.Ended() != v1beta2.ConditionComplete {
		return nil
	}
	number := int32(1)
	if !s.Fresh() {
		number = s.Status.DrillAttempts + 1
	}
	return Drill{Number: number, Path: s.Status.Snapshot.Path}
}

func oneShotHasEnded(s state.State) Step {
	ended := s.Ended()
	if ended == "" {
		return nil
	}
	return Finished{Complete: ended == v1beta2.ConditionComplete, Drill: drillTurn(s), Until: expiry(s)}
}

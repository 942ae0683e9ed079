package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

type (
	// Cancel stops the attempt, or drops its result: the spec has changed or the EtcdBackup is being deleted.
	Cancel struct{}
	// Report writes the result of the attempt into the status.
	Report struct{}
	// Watch shows the progress of the attempt.
	Watch struct{}
)

func (Cancel) describe(s state.State) planning.Description {
	cause := "the spec has changed"
	if s.Deleting {
		cause = "the EtcdBackup is being deleted"
	}
	return planning.Description{
		Reason: v1beta2.ReasonPending, Requeue: AtOnce,
		Message: "The operator stopped the attempt, because " + cause + ".",
	}
}

func (Watch) describe(s state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRunning, Message: s.Attempt.Progress.String(), Requeue: progressInterval}
	if s.Attempt.Queued {
		d.Requeue = longestSleep // a worker that begins or ends an attempt starts a pass
	}
	if FinalIsDue(s) {
		d.Requeue = min(d.Requeue, sleep(s.Now, s.Now.Add(timeLeft(s, FinalLimit)+time.Second)))
	}
	switch s.Attempt.Kind {
	case state.KindDrill:
		d.Reason = v1beta2.ReasonVerifying
	case state.KindPurge:
		d.Reason, d.Message = v1beta2.ReasonRemovingSnapshots, purging
		if s.Attempt.Queued {
			d.Requeue = sleep(s.Now, s.Now.Add(timeLeft(s, PurgeLimit)+time.Second))
		}
	case state.KindPrune:
		d.Reason, d.Message = v1beta2.ReasonRemovingSnapshots, pruning
	}
	return d
}

func (Report) describe(s state.State) planning.Description {
	d := outcome(s)
	d.Events, d.Requeue = reported(*s.Attempt), AtOnce
	return d
}

// specChangedDuringAttempt drops what an old spec has asked for, even its result. If the old attempt has written a
// snapshot, the next attempt finds it in the store.
func specChangedDuringAttempt(s state.State) Step {
	if s.Attempt == nil || s.Attempt.Generation == s.Generation {
		return nil
	}
	return Cancel{}
}

func attemptHasEnded(s state.State) Step {
	if s.Attempt == nil || s.Attempt.Result == nil {
		return nil
	}
	return Report{}
}

func attemptIsRunning(s state.State) Step {
	if s.Attempt == nil {
		return nil
	}
	return Watch{}
}

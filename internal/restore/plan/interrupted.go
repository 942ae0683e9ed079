package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// afterInterruption returns the pause after an attempt that has begun and has no result. The pause counts from when an operator sees
// that first. A status of an earlier version does not say that an attempt began, and gives no pause.
func afterInterruption(s state.State) steps.Step {
	longest := problem.Longest(v1beta2.ReasonRetrying)
	status := s.Restore.Status
	switch {
	case status.LastAttemptTime != nil:
		return steps.Interrupted{At: s.Now.Add(backoff(status.Attempts, longest))}
	case status.NextTime != nil && !clock.Due(status.NextTime.Time, longest, s.Now):
		return steps.Interrupted{At: status.NextTime.Time}
	}
	return nil
}

package plan

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

const (
	// FirstDelay is the pause after the first failed attempt.
	FirstDelay = 5 * time.Second
	// LastDelay is the longest pause after failed attempts.
	LastDelay = 5 * time.Minute
	// lastDeletionDelay is the longest pause while the EtcdBackup is being deleted.
	lastDeletionDelay = time.Minute
	lastTestDelay     = 6 * time.Hour
)

// TestDelay is the pause after that many restore tests that could not be carried out: 1 min, doubled after each one, at most
// 6 h. A restore test reads the whole snapshot, so it is repeated less often than a snapshot.
func TestDelay(failed int32) time.Duration {
	d := time.Minute
	for ; failed > 1 && d < lastTestDelay; failed-- {
		d *= 2
	}
	return min(d, lastTestDelay)
}

// longestPause is the longest pause after a failed attempt.
func longestPause(s state.State) time.Duration {
	if s.Spec.Verify == v1beta2.VerifyRestore {
		return lastTestDelay
	}
	if slices.ContainsFunc(s.Status.Conditions, func(c metav1.Condition) bool { return problem.Lasts(c.Reason) }) {
		return problem.LongestPause
	}
	return LastDelay
}

// untested returns whether the attempt failed only because the restore test could not be carried out.
func untested(r state.Result) bool {
	return !r.Untested.IsZero() || r.Failure != nil && r.Failure.Reason == v1beta2.ReasonRestoreTestTooLarge
}

// PauseAfterFailures returns the pause after that many failed attempts. The deletion of an EtcdBackup has a time limit, so its attempts
// are repeated more often: a pause of 5 minutes after an operator was killed would use up the rest of it.
func PauseAfterFailures(s state.State, failed int32) time.Duration {
	if s.Deleting {
		return min(delay(failed), lastDeletionDelay)
	}
	return delay(failed)
}

// pauseAfter returns the pause after a failed attempt. If its cause lasts, the operator tries less often.
func pauseAfter(s state.State, a state.Attempt) time.Duration {
	if f := a.Result.Failure; f != nil && !s.Deleting && problem.Lasts(f.Reason) {
		return DelayUpTo(a.Number, problem.LongestPause)
	}
	return PauseAfterFailures(s, a.Number)
}

// delay returns the pause after that many failed attempts: 5 s, doubled after each one, at most 5 min.
func delay(failed int32) time.Duration { return DelayUpTo(failed, LastDelay) }

// DelayUpTo returns the pause after that many failed attempts: 5 s, doubled after each one, at most longest.
func DelayUpTo(failed int32, longest time.Duration) time.Duration {
	d := FirstDelay
	for ; failed > 1 && d < longest; failed-- {
		d *= 2
	}
	return min(d, longest)
}

package restore

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// SafetyAge is the maximum age of a safety snapshot when the members are stopped. It is twice the limit of the wait, so
// that a snapshot that took all of that time is not too old when it is ready.
const SafetyAge = 2 * v1beta2.SafetySnapshotLimit

// seedReadySince is when the operator asked for the safety snapshot of the restore under way.
func seedReadySince(s state.State) time.Time {
	if s.SeedReadySince.IsZero() && s.Restore.SeedReadyTime != nil {
		return s.Restore.SeedReadyTime.Time
	}
	return s.SeedReadySince
}

// safetyIsOld returns whether the safety snapshot lacks the writes of too long a time, or could not be taken so long ago. While the clocks differ, an
// operator that has just started has first seen the answer now, so the time that is stored counts, too.
func safetyIsOld(s state.State) bool {
	return max(s.Now.Sub(s.Request.Saved.Time.Time), state.Stamp(s).Sub(s.Request.SavedFor)) > SafetyAge
}

// AskedFor is the time that names the next request for a safety snapshot. It is after that of the last answer, which a clock that was ahead may
// have written.
func AskedFor(s state.State) time.Time {
	at := state.Stamp(s)
	if s.Request != nil && !s.Request.SavedFor.IsZero() {
		at = state.Later(at, s.Request.SavedFor.Add(time.Second))
	}
	return at
}

package status

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/storage/problem"
)

// secondLocation reports the copies of the snapshots and of the archive in the second location.
type secondLocation struct{ *reporter }

// starts counts an attempt before it starts. It keeps the condition until the attempt has ended.
func (r secondLocation) starts(number int32) {
	c := r.copies()
	c.Attempts, c.LastAttemptTime, c.NextTime, c.ObservedGeneration = number, state.Second(r.s.Now), nil, r.s.Generation
	if r.Find(v1beta2.ConditionCopied) == nil {
		r.False(v1beta2.ConditionCopied, v1beta2.ReasonCopying, plan.Copying)
	}
}

// ended reports how a copy ended. It keeps all other conditions.
func (r secondLocation) ended(a state.Attempt, d planning.Description) {
	c := r.copies()
	if len(a.Result.Kept) > 0 {
		c.Newest = &a.Result.Kept[0] // some copies are there, even if others failed
	}
	if f := a.Result.Failure; f != nil {
		c.NextTime = state.Second(a.Result.EndedAt.Add(plan.DelayUpTo(a.Number, problem.Longest(f.Reason))))
		r.False(v1beta2.ConditionCopied, d.Reason, d.Message)
		return
	}
	c.Attempts, c.NextTime, c.Missing = 0, nil, int32(min(a.Result.Missing, 1<<30)) // limited
	if c.Newest = nil; len(a.Result.Kept) > 0 {
		c.Newest = &a.Result.Kept[0]
	}
	if newest := r.out.Snapshot; newest != nil && !plan.Copied(c, newest) {
		if r.out.Attempts == 0 && r.out.LastAttemptTime != nil && !r.out.LastAttemptTime.Time.Before(state.Second(a.StartedAt).Time) {
			c.Missing = max(c.Missing, 1) // the attempt that reported it began later than the copy
		}
		d.Message = "The second location does not have the newest snapshot: it is newer than the copy, cannot be read, or is not kept there."
	}
	if a.Result.CopyProblem != "" {
		d.Message = planning.Sentence(d.Message+" Older ones were not copied: ", a.Result.CopyProblem)
	}
	switch {
	case c.Missing > 0:
		r.False(v1beta2.ConditionCopied, v1beta2.ReasonCopying, plan.Copying)
	case a.Result.PruneProblem != "":
		r.True(v1beta2.ConditionCopied, d.Reason, planning.Sentence(d.Message+" Old snapshots were not deleted there: ", a.Result.PruneProblem))
	default:
		r.True(v1beta2.ConditionCopied, d.Reason, d.Message)
	}
}

// lacks counts a snapshot that an attempt found in the store as missing in the second location, so that a copy follows at once. Its time of
// success is that of its request, and a copy after that time may have listed the snapshots before the store had this one.
func (r secondLocation) lacks(before *v1beta2.Snapshot) {
	c, found := r.out.Copies, r.out.Snapshot
	if c == nil || before != nil && before.Path == found.Path || plan.Copied(c, found) {
		return
	}
	c.Missing = max(c.Missing, 1)
}

func (r secondLocation) copies() *v1beta2.BackupCopies {
	if r.out.Copies == nil {
		r.out.Copies = &v1beta2.BackupCopies{}
	}
	return r.out.Copies
}

// snapshots keeps the facts about the copied snapshots up to date in every pass.
func (r secondLocation) snapshots() {
	switch c := r.out.Copies; {
	case r.s.Spec.CopyTo == nil:
		r.out.Copies = nil
		r.Remove(v1beta2.ConditionCopied)
	case r.s.CopyProblem != nil:
		r.False(v1beta2.ConditionCopied, r.s.CopyProblem.Reason, r.s.CopyProblem.Message)
	case c != nil:
		c.LagSeconds = lag(r.out.Snapshot, c.Newest)
	}
}

// lag returns how many seconds the copy is behind the newest snapshot.
func lag(newest, copied *v1beta2.Snapshot) int64 {
	if newest == nil || copied == nil {
		return 0
	}
	from, err1 := time.Parse(time.RFC3339, copied.CreatedAt)
	to, err2 := time.Parse(time.RFC3339, newest.CreatedAt)
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(int64(to.Sub(from)/time.Second), 0)
}

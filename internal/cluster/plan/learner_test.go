package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// copying: the learner has been seen for so long, and has applied so much of a log of 1000 entries.
func copying(since time.Duration, applied int64) func(*Member) {
	return func(m *Member) {
		learner(m)
		m.SilentSince, m.AppliedIndex = noon.Add(-since), applied
	}
}

func wrote(index int64) func(*Member) { return func(m *Member) { m.AppliedIndex = index } }

func TestALearnerDoesNotHoldUpTheClusterWithoutEnd(t *testing.T) {
	large := func(m *Member) { m.DBSize = 6 << 30 } // 25.6 minutes at 4 MiB/s
	promote := PromoteLearner{ID: 4, Name: nameOf(3)}
	planTests{
		"it has its time": {
			state(formed, members(3), with(0, wrote(1000)), with(3, copying(10*time.Minute, 10)), size(4)), promote,
		},
		"it is removed when it has had its time": {
			state(formed, members(3), with(0, wrote(1000)), with(3, copying(11*time.Minute, 10)), size(4)),
			RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not caught up with the leader within 10m"},
		},
		"it has more time for a large database": {
			state(formed, members(3), with(0, wrote(1000), large), with(3, copying(25*time.Minute, 10)), size(4)), promote,
		},
		"a large database gives it no time without end": {
			state(formed, members(3), with(0, wrote(1000), large), with(3, copying(26*time.Minute, 10)), size(4)),
			RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not caught up with the leader within 25m"},
		},
		"it is promoted when it has caught up, however long that took": {
			state(formed, members(3), with(0, wrote(1000)), with(3, copying(time.Hour, 950)), size(4)), promote,
		},
		"it is removed when it runs and never answers": {
			state(formed, members(3), with(0, wrote(1000)), with(3, copying(time.Hour, 950), func(m *Member) { m.Answers = false }), size(4)),
			RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not caught up with the leader within 10m"},
		},
		"it is not given up because it cannot start": {
			state(formed, members(3), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4), func(m *Member) { m.SilentSince = noon.Add(-time.Hour) }), size(4)),
			Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "member " + nameOf(3) + ": why", Stalled: true},
		},
	}.run(t)
}

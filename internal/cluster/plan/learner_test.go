package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// copying: the learner was first seen the given time ago, and has applied the given number of 1000 entries of the log.
func copying(since time.Duration, applied int64) func(*state.Member) {
	return func(m *state.Member) {
		learner(m)
		m.SilentSince, m.AppliedIndex = noon.Add(-since), applied
	}
}

func wrote(index int64) func(*state.Member) { return func(m *state.Member) { m.AppliedIndex = index } }

func failures(n int32, ago time.Duration) change {
	return func(s *state.State) { s.LearnerFailures, s.LearnerFailedAt = n, noon.Add(-ago) }
}

func TestTheStatusCountsLearnersThatFailUntilOneGetsItsVote(t *testing.T) {
	s := stateWith(formed, members(3))
	var status v1beta2.EtcdClusterStatus
	for i, test := range []struct {
		step steps.Step
		want int32
	}{{steps.RemoveMember{TooSlow: true}, 1}, {steps.RemoveMember{}, 1}, {steps.Done{}, 1}, {steps.RemoveMember{TooSlow: true}, 2}, {steps.PromoteLearner{}, 0}} {
		status = NewStatus(s, test.step, nil, status, 1)
		if status.LearnerFailures != test.want || (status.LearnerFailedAt == nil) != (test.want == 0) {
			t.Errorf("after step %d: %d failures, the last at %v, want %d", i, status.LearnerFailures, status.LearnerFailedAt, test.want)
		}
	}
}

func TestALearnerDoesNotHoldUpTheClusterWithoutEnd(t *testing.T) {
	large := func(m *state.Member) { m.DBSize = 6 << 30 } // 25.6 minutes at 4 MiB/s
	promote := steps.PromoteLearner{ID: 4, Name: nameOf(3)}
	planTests{
		"a learner that is behind is kept for 10 minutes": {
			stateWith(formed, members(3), with(0, wrote(1000)), with(3, copying(10*time.Minute, 10)), size(4), promoting(3)), promote,
		},
		"a learner that is behind after more than 10 minutes is removed": {
			stateWith(formed, members(3), with(0, wrote(1000)), with(3, copying(11*time.Minute, 10)), size(4)),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not caught up with the leader within 10m", TooSlow: true},
		},
		"a learner has more time for a large database": {
			stateWith(formed, members(3), with(0, wrote(1000), large), with(3, copying(25*time.Minute, 10)), size(4), promoting(3)), promote,
		},
		"a learner is removed if its time for a large database is over": {
			stateWith(formed, members(3), with(0, wrote(1000), large), with(3, copying(26*time.Minute, 10)), size(4)),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not caught up with the leader within 25m", TooSlow: true},
		},
		"a learner that has caught up is promoted, even after an hour": {
			stateWith(formed, members(3), with(0, wrote(1000)), with(3, copying(time.Hour, 950)), size(4), promoting(3)), promote,
		},
		"a learner that runs and never answers is removed": {
			stateWith(formed, members(3), with(0, wrote(1000)), with(3, copying(time.Hour, 950), func(m *state.Member) { m.Answers = false }), size(4)),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not caught up with the leader within 10m", TooSlow: true},
		},
		"after three failed learners, the operator asks a person and pauses": {
			stateWith(formed, members(2), failures(3, time.Minute)),
			steps.Wait{
				Reason: v1beta2.ReasonLearnerTooSlow, Stalled: true, Requeue: state.RequeueSettled,
				Message: "3 new members in a row did not start, or did not catch up with the leader, within 10m. The operator removed them, and each event ReplacingMember has the cause. 2 of 3 members vote. " +
					"If their Pods did not start, check that the nodes can attach and mount the volumes. If they did not catch up, check the disks and the network of the nodes, and lower the rate of writes. The operator adds the next member at 2026-03-04T12:29:00Z.",
			},
		},
		"the next learner is added after a pause of 30 minutes":   {stateWith(formed, members(2), failures(3, 30*time.Minute)), steps.AddLearner{Name: nameOf(2), PeerURL: peerURLOf(2)}},
		"two failed learners cause no pause":                      {stateWith(formed, members(2), failures(2, time.Minute)), steps.AddLearner{Name: nameOf(2), PeerURL: peerURLOf(2)}},
		"a cluster that has its size does not wait for a learner": {stateWith(formed, members(3), failures(5, time.Minute)), steps.Done{}},
		"the pause after 100 failed learners is 8 hours":          {stateWith(formed, members(2), failures(100, 8*time.Hour)), steps.AddLearner{Name: nameOf(2), PeerURL: peerURLOf(2)}},
		"a learner whose disk was cleared makes way for another one": {
			stateWith(formed, members(3), with(3, learner, blockedBy(v1beta2.ReasonPodFailing), func(m *state.Member) { m.Empty = true }, unreadyFor(time.Hour)), size(4)),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: "it has not served for 5m"},
		},
		"a learner that cannot be scheduled is not removed": {
			stateWith(formed, members(3), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4), func(m *state.Member) { m.SilentSince = noon.Add(-time.Hour) }), size(4)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(3) + " does not run: why. Quorum holds (3 of 3).", Stalled: true},
		},
	}.run(t)
}

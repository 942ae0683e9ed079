package membership_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// copying: the learner was first seen the given time ago, and has applied the given number of 1000 entries of the log.
func copying(since time.Duration, applied int64) func(*state.Member) {
	return func(m *state.Member) {
		plantest.Learner(m)
		m.SilentSince, m.AppliedIndex = plantest.Noon.Add(-since), applied
	}
}

func wrote(index int64) func(*state.Member) { return func(m *state.Member) { m.AppliedIndex = index } }

func TestTheStatusCountsLearnersThatFailUntilOneGetsItsVote(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	var status v1beta2.EtcdClusterStatus
	for i, test := range []struct {
		step steps.Step
		want int32
	}{{steps.RemoveMember{TooSlow: true}, 1}, {steps.RemoveMember{}, 1}, {steps.Done{}, 1}, {steps.RemoveMember{TooSlow: true}, 2}, {steps.PromoteLearner{}, 0}} {
		status = plan.NewStatus(s, test.step, nil, status, 1)
		if status.LearnerFailures != test.want || (status.LearnerFailedAt == nil) != (test.want == 0) {
			t.Errorf("after step %d: %d failures, the last at %v, want %d", i, status.LearnerFailures, status.LearnerFailedAt, test.want)
		}
	}
}

func TestALearnerDoesNotHoldUpTheClusterWithoutEnd(t *testing.T) {
	large := func(m *state.Member) { m.DBSize = 6 << 30 } // 25.6 minutes at 4 MiB/s
	promote := steps.PromoteLearner{ID: 4, Name: plantest.NameOf(3)}
	plantest.Plans{
		"a learner that is behind is kept for 10 minutes": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, wrote(1000)), plantest.With(3, copying(10*time.Minute, 10)), plantest.Size(4), promoting(3)), promote,
		},
		"a learner that is behind after more than 10 minutes is removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, wrote(1000)), plantest.With(3, copying(11*time.Minute, 10)), plantest.Size(4)),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: "it has not caught up with the leader within 10m", TooSlow: true},
		},
		"a learner has more time for a large database": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, wrote(1000), large), plantest.With(3, copying(25*time.Minute, 10)), plantest.Size(4), promoting(3)), promote,
		},
		"a learner is removed if its time for a large database is over": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, wrote(1000), large), plantest.With(3, copying(26*time.Minute, 10)), plantest.Size(4)),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: "it has not caught up with the leader within 25m", TooSlow: true},
		},
		"a learner that has caught up is promoted, even after an hour": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, wrote(1000)), plantest.With(3, copying(time.Hour, 950)), plantest.Size(4), promoting(3)), promote,
		},
		"a learner that runs and never answers is removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, wrote(1000)), plantest.With(3, copying(time.Hour, 950), func(m *state.Member) { m.Answers = false }), plantest.Size(4)),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: "it has not caught up with the leader within 10m", TooSlow: true},
		},
		"after three failed learners, the operator asks a person and pauses": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Failures(3, time.Minute)),
			steps.Wait{
				Reason: v1beta2.ReasonLearnerTooSlow, Stalled: true, Requeue: state.RequeueSettled,
				Message: "3 new members in a row did not start, or did not catch up with the leader, within 10m. The operator removed them, and each event ReplacingMember has the cause. 2 of 3 members vote. " +
					"If their Pods did not start, check that the nodes can attach and mount the volumes. If they did not catch up, check the disks and the network of the nodes, and lower the rate of writes. The operator adds the next member at 2026-03-04T12:29:00Z.",
			},
		},
		"the next learner is added after a pause of 30 minutes":   {plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Failures(3, 30*time.Minute)), steps.AddLearner{Name: plantest.NameOf(2), PeerURL: plantest.PeerURLOf(2)}},
		"two failed learners cause no pause":                      {plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Failures(2, time.Minute)), steps.AddLearner{Name: plantest.NameOf(2), PeerURL: plantest.PeerURLOf(2)}},
		"a cluster that has its size does not wait for a learner": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Failures(5, time.Minute)), steps.Done{}},
		"the pause after 100 failed learners is 8 hours":          {plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Failures(100, 8*time.Hour)), steps.AddLearner{Name: plantest.NameOf(2), PeerURL: plantest.PeerURLOf(2)}},
		"a learner whose disk was cleared makes way for another one": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner, plantest.BlockedBy(v1beta2.ReasonPodFailing), func(m *state.Member) { m.Empty = true }, plantest.UnreadyFor(time.Hour)), plantest.Size(4)),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: "it has not served for 5m"},
		},
		"a learner that cannot be scheduled is not removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.JustAdded, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Joining(4), func(m *state.Member) { m.SilentSince = plantest.Noon.Add(-time.Hour) }), plantest.Size(4)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + plantest.NameOf(3) + " does not run: why. Quorum holds (3 of 3).", Stalled: true},
		},
	}.Run(t, plan.Plan)
}

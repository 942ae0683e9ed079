package membership_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// seenFailing: this process has seen for d only that the member fails, whatever its Pod shows.
func seenFailing(d time.Duration) func(*state.Member) {
	return func(m *state.Member) { m.FailingSince = plantest.Noon.Add(-d) }
}

// The Pod of a learner is never ready, a Pod that reads a large database is not ready, and without a quorum no Pod is. Such a time counted as the
// member's failure. A member that had just got its vote, had just read its database, or waited for the quorum was removed in its first second, and a
// new one had to copy the whole database.
func TestAMemberIsReplacedOnlyForTheTimeInWhichItFailed(t *testing.T) {
	learned := func(m *state.Member) { plantest.Pod(state.PodRunning)(m); m.Start = state.StartJoin; m.Answers = true }
	for name, test := range map[string]struct {
		seen    time.Duration
		change  func(*state.Member)
		removed bool
	}{
		"a voter that was a learner until now":               {50 * time.Millisecond, learned, false},
		"a voter that has read its database until now":       {time.Second, plantest.Pod(state.PodRunning), false},
		"a voter that waited for a quorum until now":         {time.Second, plantest.Pod(state.PodStarting), false},
		"a voter that failed for less than the short grace":  {59 * time.Second, plantest.Pod(state.PodRunning), false},
		"a voter that failed for longer than the short one":  {61 * time.Second, plantest.Pod(state.PodRunning), true},
		"a voter that is lost is replaced in a bounded time": {61 * time.Second, plantest.Pod(state.PodDeleting), true},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, test.change, plantest.UnreadyFor(8*time.Minute), seenFailing(test.seen)))
		if _, is := plan.Plan(s).(steps.RemoveMember); is != test.removed {
			t.Errorf("%s: %#v", name, plan.Plan(s))
		}
	}
	unseen := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(time.Hour), func(m *state.Member) { m.FailingSince = time.Time{} }))
	if remove, is := plan.Plan(unseen).(steps.RemoveMember); is {
		t.Errorf("this process has not seen the member fail: %#v", remove)
	}
}

// A user who asks for a short time gets it: the short grace period does not prolong it.
func TestTheShortGraceProlongsNoShorterOne(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Grace(30*time.Second), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(31*time.Second)))
	if _, is := plan.Plan(s).(steps.RemoveMember); !is {
		t.Errorf("%#v", plan.Plan(s))
	}
}

// A member that restarts without end was never replaced if each start gave it the time to read its database again.
func TestAMemberThatRestartsWithoutEndGetsNoNewTimeForEachStart(t *testing.T) {
	for unready, expected := range map[time.Duration]bool{9 * time.Minute: false, 11 * time.Minute: true} {
		for name, since := range map[string]func(*state.Member){
			"the time of the Pod": func(m *state.Member) { m.UnreadySince = plantest.Noon.Add(-unready) },
			"the time of this process": func(m *state.Member) {
				m.UnreadySince, m.SilentSince = plantest.Noon.Add(plantest.Year), plantest.Noon.Add(-unready)
			},
		} {
			s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), loading, since))
			if state.Expected(s, s.Members[1]) != expected {
				t.Errorf("%s: after %s of 10m it is expected to serve: %t", name, unready, !expected)
			}
		}
	}
}

// A member that has just read its database and runs with an earlier spec was restarted in that second, and read everything again.
func TestAMemberThatHasJustReadItsDatabaseIsNotRestartedForTheSpec(t *testing.T) {
	old := func(m *state.Member) { m.Outdated = true }
	for seen, stopped := range map[time.Duration]bool{time.Second: false, 2 * time.Minute: true} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), old, plantest.UnreadyFor(4*time.Minute), seenFailing(seen)))
		if _, is := plan.Plan(s).(steps.DeletePod); is != stopped {
			t.Errorf("after %s: %#v", seen, plan.Plan(s))
		}
	}
}

// The operator reported that the new member catches up, so a user did not learn from the status that its volume cannot be attached.
func TestALearnerWhoseVolumeCannotBeMountedDoesNotCatchUp(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.StuckLearner(time.Minute))
	if d := steps.Describe(s, plan.Plan(s)); d.Message != "Member "+plantest.NameOf(3)+" has not caught up with the leader yet: "+plantest.CannotMount+"." {
		t.Errorf("the status says: %s", d.Message)
	}
}

// No rule gave up a learner whose Pod never started. So a voter that was lost was not replaced, and the next failure took quorum.
func TestALearnerWhosePodNeverStartsIsGivenUp(t *testing.T) {
	dead := plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(time.Hour))
	waits := plantest.With(3, func(m *state.Member) { m.Waits = true })
	noNode := plantest.With(3, func(m *state.Member) { m.Node = "" })
	for name, test := range map[string]struct {
		changes []plantest.Change
		removed bool
		tooSlow bool
		cause   string
	}{
		"it makes way for the replacement of a voter":         {[]plantest.Change{plantest.StuckLearner(time.Hour), dead}, true, false, state.MakesWay},
		"without such a voter, the next one may fare better":  {[]plantest.Change{plantest.StuckLearner(time.Hour)}, true, true, "its Pod has not started within 10m"},
		"it has as much time as it takes to catch up":         {[]plantest.Change{plantest.StuckLearner(9 * time.Minute), dead}, false, false, ""},
		"its time begins when this process sees that":         {[]plantest.Change{plantest.StuckLearner(time.Hour), plantest.With(3, seenFailing(time.Minute)), dead}, false, false, ""},
		"a Pod that the operator has not released may wait":   {[]plantest.Change{plantest.StuckLearner(time.Hour), waits}, false, false, ""},
		"a Pod without a node would not get one in its place": {[]plantest.Change{plantest.StuckLearner(time.Hour), noNode}, false, false, ""},
	} {
		s := plantest.StateWith(append([]plantest.Change{plantest.Formed, plantest.Members(3), plantest.Size(4)}, test.changes...)...)
		remove, is := plan.Plan(s).(steps.RemoveMember)
		if is != test.removed || remove.TooSlow != test.tooSlow || !strings.Contains(remove.Cause, test.cause) || (is && remove.Name != plantest.NameOf(3)) {
			t.Errorf("%s: %#v", name, plan.Plan(s))
		}
	}
}

// The Pods of three new members in a row never started, because no volume could be attached. The status said that the members did not catch up, and
// advised to lower the rate of writes. So a user looked for a slow disk, and what kept the Pods from starting was reported nowhere.
func TestAMemberThatNeverStartedIsNotReportedAsTooSlow(t *testing.T) {
	var status v1beta2.EtcdClusterStatus
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.StuckLearner(time.Hour))
	for range 3 {
		step := plan.Plan(s)
		if d := steps.Describe(s, step); !strings.Contains(d.Message, "its Pod has not started within 10m: "+plantest.CannotMount+". A new member") {
			t.Fatal(d.Message)
		}
		status = plan.NewStatus(s, step, nil, status, 1)
	}
	after := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), func(s *state.State) {
		s.LearnerFailures, s.LearnerFailedAt = status.LearnerFailures, status.LearnerFailedAt.Time
	})
	message := steps.Describe(after, plan.Plan(after)).Message
	for _, part := range []string{"did not start", "event ReplacingMember has the cause", "attach and mount the volumes"} {
		if !strings.Contains(message, part) {
			t.Errorf("the status does not say %q: %s", part, message)
		}
	}
}

package modes_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// readOnlySinceYesterday: an earlier operator created the Pods, so the kubelet has said for a day that they are not ready. All members serve.
func readOnlySinceYesterday(s *state.State) {
	for i := range s.Members {
		m := &s.Members[i]
		m.ProbesAlarm, m.PodReady, m.UnreadySince = true, false, plantest.Noon.Add(-24*time.Hour)
	}
	readOnly(s)
	s.Services.ClientUnready = true
}

// silentForASecond: the member has been silent for a second, as the operator has seen.
func silentForASecond(m *state.Member) {
	plantest.Silent(m)
	m.Alarms, m.SilentSince = nil, plantest.Noon.Add(-time.Second)
}

// look is what a pass does with the State before it plans.
func look(s state.State) state.State {
	modes.LookBehindFences(&s)
	return s
}

func keeps(t *testing.T, s state.State, name string) {
	t.Helper()
	for range 3 {
		step := plan.Plan(look(s))
		switch step := step.(type) {
		case steps.BeginRemoval:
			s.Removing = step.Voter
		case steps.RemoveMember:
			t.Errorf("%s is removed, although it has been silent for a second: %s. Its data is on its volume: %t", step.Name, step.Cause, state.KeepsData(s, s.Members[1]))
			return
		default:
			t.Logf("%T %+v", step, step)
			return
		}
	}
}

// A member of a read-only cluster stops for a moment, and its data is on its volume. The grace of the spec is 5 minutes. Without a fence, the Pod was
// ready until a second ago.
func TestAMemberBehindAFenceThatStopsForAMomentKeepsItsPlace(t *testing.T) {
	for name, change := range map[string]plantest.Change{
		"its Pod is evicted, deleted by a person, or by a roll": plantest.With(1, silentForASecond, plantest.Pod(state.PodDeleting), plantest.UnreadyFor(24*time.Hour)),
		"its etcd was killed, and the kubelet starts it again":  plantest.With(1, silentForASecond, plantest.Pod(state.PodStarting), plantest.UnreadyFor(24*time.Hour)),
		"its etcd was killed, and waits for its second start":   plantest.With(1, silentForASecond, plantest.Pod(state.PodBlocked), plantest.UnreadyFor(24*time.Hour), func(m *state.Member) { m.PodReason = v1beta2.ReasonPodFailing }),
		"it does not answer (the case that is covered)":         plantest.With(1, silentForASecond),
	} {
		t.Run(name, func(t *testing.T) {
			keeps(t, plantest.StateWith(plantest.Formed, plantest.Members(3), refusing, readOnlySinceYesterday, change), plantest.NameOf(1))
		})
	}
}

// The operator itself deletes a Pod, for the roll to another image. The next pass sees it stop.
func TestARollBehindAFenceRemovesNoMember(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), refusing, readOnlySinceYesterday, plantest.OfVersion("3.6.17"))
	stop, is := plan.Plan(look(s)).(steps.DeletePod)
	if !is {
		t.Fatalf("the roll begins with %#v", plan.Plan(look(s)))
	}
	for i := range s.Members {
		if s.Members[i].Name == stop.Name {
			plantest.With(i, silentForASecond, plantest.Pod(state.PodDeleting), plantest.UnreadyFor(24*time.Hour))(&s)
		}
	}
	keeps(t, s, stop.Name)
}

// spec.readOnly was set for the maintenance of a node. A member went down with the node a minute ago. Then the person sets spec.readOnly to false. The
// fence is off, and the Pod of the silent member cannot become ready.
func TestTheEndOfAFenceDoesNotEndTheGraceOfASilentMember(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), readOnlySinceYesterday, plantest.With(1, silentForASecond), func(s *state.State) { s.Spec.ReadOnly = false })
	for _, i := range []int{0, 2} {
		s.Members[i].PodReady, s.Members[i].UnreadySince = true, time.Time{}
	}
	keeps(t, s, plantest.NameOf(1))
}

// The operator alone is cut off from the members, for a second. A quorum serves reads to clients. The members trust a CA bundle that has just been
// extended: the roll has yet to reach them. restartForNewCA waits for 5 minutes without readiness.
func TestAnOperatorThatIsCutOffStopsNoMemberBehindAFence(t *testing.T) {
	newCA := plantest.Certs(func(c *state.Certificates) { c.Trust = "old and new" })
	cutOff := func(s *state.State) {
		for i := range s.Members {
			silentForASecond(&s.Members[i])
			s.Members[i].Trust = "old"
		}
	}
	ready := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, readOnly, newCA, cutOff)
	for i := range ready.Members {
		ready.Members[i].PodReady = true // Pods of this version
	}
	if step, is := plan.Plan(look(ready)).(steps.Wait); !is || step.Reason != v1beta2.ReasonMembersUnreachable {
		t.Fatalf("Pods of this version: %#v", plan.Plan(look(ready)))
	}
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, newCA, cutOff, readOnlySinceYesterday)
	for range 3 {
		step, stops := plan.Plan(look(s)).(steps.DeletePod)
		if !stops {
			return
		}
		t.Errorf("Pod %s is deleted, because %s. A quorum of the members served a second ago", step.Name, step.Message)
		for i := range s.Members { // the next Pod runs, and its etcd has yet to reach the others
			if s.Members[i].Name == step.Name {
				s.Members[i].ProbesAlarm, s.Members[i].Trust, s.Members[i].UnreadySince = false, "old and new", plantest.Noon
			}
		}
	}
}

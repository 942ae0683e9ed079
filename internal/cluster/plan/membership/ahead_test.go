package membership_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// justAddressed: its name may not resolve yet.
func justAddressed(m *state.Member) {
	m.AddressSince = plantest.Noon.Add(-state.Publishing + time.Millisecond)
}

// published: the headless Service has had its address for the given time.
func published(ago time.Duration) func(*state.Member) {
	return func(m *state.Member) { m.AddressSince, m.PublishedSince = plantest.Noon, plantest.Noon.Add(-ago) }
}

// unused: the Pod was lost before etcd added its member.
func unused(m *state.Member) {
	*m = state.Member{Name: m.Name, Incarnation: 1, Volume: state.VolumePresent, VolumeUnused: true}
}

func waitsFor(names string) steps.Wait {
	return steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueStarting, Message: "The Pods of new members get their volumes and addresses. Then etcd adds these members one at a time: " + names + "."}
}

func add(i int) steps.AddLearner {
	return steps.AddLearner{Name: plantest.NameOf(i), PeerURL: plantest.PeerURLOf(i)}
}

const notNeeded = "etcd has not added it, and this Pod is no longer needed: the spec has changed, or its volume is being deleted"

func TestPlanAhead(t *testing.T) {
	plantest.Plans{
		"creates the Pod of the first of two missing members before it is added": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(5)), plantest.Create(3)},
		"creates the Pod of the second missing member while the first one waits": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead), plantest.Size(5)), plantest.Create(4)},
		"adds a single missing member before it creates its Pod":                 {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4)), add(3)},
		"adds no member whose Pod has no address":                                {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead), plantest.With(4, plantest.Ahead), plantest.Size(5)), waitsFor(plantest.NameOf(3) + ", " + plantest.NameOf(4))},
		"adds no member whose name may not resolve yet": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, justAddressed), plantest.With(4, plantest.Ahead), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: waitsFor(plantest.NameOf(3) + ", " + plantest.NameOf(4)).Message},
		},
		"adds no member whose address was published less than 200 ms ago": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, published(state.Spreading-time.Millisecond)), plantest.With(4, plantest.Ahead), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: waitsFor(plantest.NameOf(3) + ", " + plantest.NameOf(4)).Message},
		},
		"adds a member whose address was published 200 ms ago":   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, published(state.Spreading)), plantest.With(4, plantest.Ahead), plantest.Size(5)), add(3)},
		"adds the first of two members whose names resolve":      {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5)), add(3)},
		"adds the other member if one Pod cannot be scheduled":   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5)), add(4)},
		"lets a waiting Pod start etcd once its member is added": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed, plantest.AddedAhead), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5)), steps.ReleaseMember{Name: plantest.NameOf(3)}},
		"checks every 100 ms until a released member answers": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed, plantest.AddedAhead, func(m *state.Member) { m.Waits = false }), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + plantest.NameOf(3) + " is catching up with the leader."},
		},
		"adds the next member if the previous one serves and its Pod is not ready yet": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(3, func(m *state.Member) { m.PodReady, m.UnreadySince, m.InService = false, plantest.Noon, true }), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5)), add(4),
		},
		"checks every 100 ms until a name resolves while the previous member's Pod is not ready": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(3, func(m *state.Member) { m.PodReady, m.UnreadySince, m.InService = false, plantest.Noon, true }), plantest.With(4, plantest.Ahead, justAddressed), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Requeue: state.RequeueAddress, Message: "Member " + plantest.NameOf(3) + " does not serve: its Pod is not ready."},
		},
		"does not check more often while the next member's Pod has no address": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(3, func(m *state.Member) { m.PodReady, m.UnreadySince, m.InService = false, plantest.Noon, true }), plantest.With(4, plantest.Ahead), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(3) + " does not serve: its Pod is not ready."},
		},
		"does not report a held release once the member is released": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed, plantest.AddedAhead, func(m *state.Member) { m.Waits = false }), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5), func(s *state.State) {
				s.Held = []state.Held{{Step: steps.RepeatKey(*s, steps.ReleaseMember{Name: plantest.NameOf(3)}), Times: 3, Until: plantest.Noon.Add(time.Minute)}}
			}),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + plantest.NameOf(3) + " is catching up with the leader."},
		},
		"recreates a lost Pod with its unused volume":                          {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead), plantest.With(4, unused), plantest.Size(5)), plantest.Create(4)},
		"starts a voter, not a member that was never added, if quorum is lost": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.WithoutPod), plantest.With(3, unused), plantest.Size(5)), steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin}},
		"deletes a waiting Pod if spec.size is lowered":                        {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed), plantest.Size(3)), steps.DeletePod{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"deletes a waiting Pod if the spec asks for another image":             {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, func(m *state.Member) { m.PodImage = "old" }), plantest.With(4, plantest.Ahead), plantest.Size(5)), steps.DeletePod{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"deletes a waiting Pod if its volume is being deleted":                 {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed, plantest.Volume(state.VolumeDeleting)), plantest.With(4, plantest.Ahead), plantest.Size(5)), steps.DeletePod{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"deletes a waiting Pod if its volume is lost":                          {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.Addressed, plantest.Volume(state.VolumeLost)), plantest.With(4, plantest.Ahead), plantest.Size(5)), steps.DeletePod{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"creates no Pod ahead while a voter does not serve": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodStarting), func(m *state.Member) {
			m.Answers, m.Serving, m.PodReady, m.UnreadySince = false, false, false, plantest.Noon
		}), plantest.Size(5)), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."}},
	}.Run(t, plan.Plan)
}

func TestStatusNamesThePodThatKeepsANewMemberFromBeingAdded(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)), plantest.With(4, plantest.Ahead, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)), plantest.Size(5))
	wait, is := plan.Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonPodUnschedulable || !wait.Stalled {
		t.Errorf("step %+v", plan.Plan(s))
	}
	slow := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(4, plantest.Ahead, func(m *state.Member) { m.UnreadySince = plantest.Noon.Add(-state.StartGrace - time.Second) }), plantest.Size(5))
	wait, is = plan.Plan(slow).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonMemberDown || !wait.Stalled {
		t.Errorf("step %+v", plan.Plan(slow))
	}
}

func TestAPodThatWaitsHoldsNoData(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Ahead), plantest.With(4, unused), plantest.Size(5))
	for _, i := range []int{3, 4} {
		if m, _ := state.Find(s, plantest.NameOf(i)); s.HoldsData(m) {
			t.Errorf("member %d holds data: %+v", i, m)
		}
	}
}

func TestAMemberThatWasNeverAddedStartsOnlyAfterItIsAdded(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, unused), plantest.Size(5))
	s.MembershipKnown = false
	m, _ := state.Find(s, plantest.NameOf(3))
	if start, may := state.StartOf(s, m); may {
		t.Errorf("it starts: %s", start)
	}
}

func TestNoPreparedMemberIsAddedWhileAVoterDoesNotServe(t *testing.T) {
	down := func(m *state.Member) { m.Serving = false }
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, down), plantest.With(3, plantest.Ahead, plantest.Addressed), plantest.With(4, plantest.Ahead, plantest.Addressed), plantest.Size(5))
	if step := membership.AddPrepared(s); step != nil {
		t.Errorf("step %+v", step)
	}
}

// A tool removed the annotation from a Pod that holds data. The operator then reported that no voter has its data, and could
// delete it.
func TestAMemberThatRanHasDataAlthoughItsPodSeemsToWait(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, plantest.With(0, plantest.LostAnnotation))
	if !s.HoldsData(s.Members[0]) {
		t.Error("it counts as without data")
	}
	s.Members[0].Ran = false
	if s.HoldsData(s.Members[0]) {
		t.Error("a Pod in which no etcd has run counts as one with data")
	}
}

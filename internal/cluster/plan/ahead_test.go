package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// ahead is a member whose Pod waits until etcd has added it.
func ahead(m *state.Member) {
	*m = state.Member{Name: m.Name, Incarnation: 1, Volume: state.VolumePresent, VolumeUnused: true, Pod: state.PodStarting, PodImage: (&v1beta2.EtcdClusterSpec{}).Image(), Start: state.StartJoin, Waits: true, PodCreated: noon, UnreadySince: noon}
}

// addressed: its name resolves.
func addressed(m *state.Member) { m.AddressSince = noon.Add(-state.Publishing) }

// justAddressed: its name may not resolve yet.
func justAddressed(m *state.Member) { m.AddressSince = noon.Add(-state.Publishing + time.Millisecond) }

// published: the headless Service has had its address for the given time.
func published(ago time.Duration) func(*state.Member) {
	return func(m *state.Member) { m.AddressSince, m.PublishedSince = noon, noon.Add(-ago) }
}

// addedAhead: etcd has added the member, and its Pod still waits.
func addedAhead(m *state.Member) { m.InMembership, m.Learner, m.ID = true, true, 4 }

// unused: the Pod was lost before etcd added its member.
func unused(m *state.Member) {
	*m = state.Member{Name: m.Name, Incarnation: 1, Volume: state.VolumePresent, VolumeUnused: true}
}

func waitsFor(names string) steps.Wait {
	return steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueStarting, Message: "The Pods of new members get their volumes and addresses. Then etcd adds these members one at a time: " + names + "."}
}

func create(i int) steps.CreateMember {
	return steps.CreateMember{Name: nameOf(i), Incarnation: 1, Start: state.StartJoin, Waits: true}
}

func add(i int) steps.AddLearner { return steps.AddLearner{Name: nameOf(i), PeerURL: peerURLOf(i)} }

const notNeeded = "etcd has not added it, and this Pod is no longer needed: the spec has changed, or its volume is being deleted"

func TestPlanAhead(t *testing.T) {
	planTests{
		"creates the Pod of the first of two missing members before it is added": {stateWith(formed, members(3), size(5)), create(3)},
		"creates the Pod of the second missing member while the first one waits": {stateWith(formed, members(3), with(3, ahead), size(5)), create(4)},
		"adds a single missing member before it creates its Pod":                 {stateWith(formed, members(3), size(4)), add(3)},
		"adds no member whose Pod has no address":                                {stateWith(formed, members(3), with(3, ahead), with(4, ahead), size(5)), waitsFor(nameOf(3) + ", " + nameOf(4))},
		"adds no member whose name may not resolve yet": {
			stateWith(formed, members(3), with(3, ahead, justAddressed), with(4, ahead), size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: waitsFor(nameOf(3) + ", " + nameOf(4)).Message},
		},
		"adds no member whose address was published less than 200 ms ago": {
			stateWith(formed, members(3), with(3, ahead, published(state.Spreading-time.Millisecond)), with(4, ahead), size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: waitsFor(nameOf(3) + ", " + nameOf(4)).Message},
		},
		"adds a member whose address was published 200 ms ago":   {stateWith(formed, members(3), with(3, ahead, published(state.Spreading)), with(4, ahead), size(5)), add(3)},
		"adds the first of two members whose names resolve":      {stateWith(formed, members(3), with(3, ahead, addressed), with(4, ahead, addressed), size(5)), add(3)},
		"adds the other member if one Pod cannot be scheduled":   {stateWith(formed, members(3), with(3, ahead, blockedBy(v1beta2.ReasonPodUnschedulable)), with(4, ahead, addressed), size(5)), add(4)},
		"lets a waiting Pod start etcd once its member is added": {stateWith(formed, members(3), with(3, ahead, addressed, addedAhead), with(4, ahead, addressed), size(5)), steps.ReleaseMember{Name: nameOf(3)}},
		"checks every 100 ms until a released member answers": {
			stateWith(formed, members(3), with(3, ahead, addressed, addedAhead, func(m *state.Member) { m.Waits = false }), with(4, ahead, addressed), size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + nameOf(3) + " is catching up with the leader."},
		},
		"adds the next member if the previous one serves and its Pod is not ready yet": {
			stateWith(formed, members(4), with(3, func(m *state.Member) { m.PodReady, m.UnreadySince, m.InService = false, noon, true }), with(4, ahead, addressed), size(5)), add(4),
		},
		"checks every 100 ms until a name resolves while the previous member's Pod is not ready": {
			stateWith(formed, members(4), with(3, func(m *state.Member) { m.PodReady, m.UnreadySince, m.InService = false, noon, true }), with(4, ahead, justAddressed), size(5)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Requeue: state.RequeueAddress, Message: "Member " + nameOf(3) + " does not serve: its Pod is not ready."},
		},
		"does not check more often while the next member's Pod has no address": {
			stateWith(formed, members(4), with(3, func(m *state.Member) { m.PodReady, m.UnreadySince, m.InService = false, noon, true }), with(4, ahead), size(5)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(3) + " does not serve: its Pod is not ready."},
		},
		"does not report a held release once the member is released": {
			stateWith(formed, members(3), with(3, ahead, addressed, addedAhead, func(m *state.Member) { m.Waits = false }), with(4, ahead, addressed), size(5), func(s *state.State) {
				s.Held = []state.Held{{Step: steps.RepeatKey(*s, steps.ReleaseMember{Name: nameOf(3)}), Times: 3, Until: noon.Add(time.Minute)}}
			}),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + nameOf(3) + " is catching up with the leader."},
		},
		"recreates a lost Pod with its unused volume":                          {stateWith(formed, members(3), with(3, ahead), with(4, unused), size(5)), create(4)},
		"starts a voter, not a member that was never added, if quorum is lost": {stateWith(formed, members(3), noQuorum, with(0, withoutPod), with(3, unused), size(5)), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin}},
		"deletes a waiting Pod if spec.size is lowered":                        {stateWith(formed, members(3), with(3, ahead, addressed), size(3)), steps.DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"deletes a waiting Pod if the spec asks for another image":             {stateWith(formed, members(3), with(3, ahead, func(m *state.Member) { m.PodImage = "old" }), with(4, ahead), size(5)), steps.DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"deletes a waiting Pod if its volume is being deleted":                 {stateWith(formed, members(3), with(3, ahead, addressed, volume(state.VolumeDeleting)), with(4, ahead), size(5)), steps.DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"deletes a waiting Pod if its volume is lost":                          {stateWith(formed, members(3), with(3, ahead, addressed, volume(state.VolumeLost)), with(4, ahead), size(5)), steps.DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonScaling, Message: notNeeded}},
		"creates no Pod ahead while a voter does not serve":                    {stateWith(formed, members(3), with(1, pod(state.PodStarting), func(m *state.Member) { m.Answers, m.Serving, m.PodReady, m.UnreadySince = false, false, false, noon }), size(5)), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."}},
	}.run(t)
}

func TestStatusNamesThePodThatKeepsANewMemberFromBeingAdded(t *testing.T) {
	s := stateWith(formed, members(3), with(3, ahead, blockedBy(v1beta2.ReasonPodUnschedulable)), with(4, ahead, blockedBy(v1beta2.ReasonPodUnschedulable)), size(5))
	wait, is := Plan(s).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonPodUnschedulable || !wait.Stalled {
		t.Errorf("step %+v", Plan(s))
	}
	slow := stateWith(formed, members(4), with(4, ahead, func(m *state.Member) { m.UnreadySince = noon.Add(-state.StartGrace - time.Second) }), size(5))
	wait, is = Plan(slow).(steps.Wait)
	if !is || wait.Reason != v1beta2.ReasonMemberDown || !wait.Stalled {
		t.Errorf("step %+v", Plan(slow))
	}
}

func TestAPodThatWaitsHoldsNoData(t *testing.T) {
	s := stateWith(formed, members(3), with(3, ahead), with(4, unused), size(5))
	for _, i := range []int{3, 4} {
		if m, _ := state.Find(s, nameOf(i)); s.HoldsData(m) {
			t.Errorf("member %d holds data: %+v", i, m)
		}
	}
}

func TestAMemberThatWasNeverAddedStartsOnlyAfterItIsAdded(t *testing.T) {
	s := stateWith(formed, members(3), with(3, unused), size(5))
	s.MembershipKnown = false
	m, _ := state.Find(s, nameOf(3))
	if start, may := state.StartOf(s, m); may {
		t.Errorf("it starts: %s", start)
	}
}

func TestNoPreparedMemberIsAddedWhileAVoterDoesNotServe(t *testing.T) {
	down := func(m *state.Member) { m.Serving = false }
	s := stateWith(formed, members(3), with(1, down), with(3, ahead, addressed), with(4, ahead, addressed), size(5))
	if step := membership.AddPrepared(s); step != nil {
		t.Errorf("step %+v", step)
	}
}

// A tool removed the annotation from a Pod that holds data. The operator then reported that no voter has its data, and could
// delete it.
func TestAMemberThatRanHasDataAlthoughItsPodSeemsToWait(t *testing.T) {
	s := stateWith(formed, members(3), ephemeral, with(0, lostAnnotation))
	if !s.HoldsData(s.Members[0]) {
		t.Error("it counts as without data")
	}
	s.Members[0].Ran = false
	if s.HoldsData(s.Members[0]) {
		t.Error("a Pod in which no etcd has run counts as one with data")
	}
}

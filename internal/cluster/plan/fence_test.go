package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// etcd refuses all requests while a CORRUPT alarm is on. So a fence does not keep the member that causes it.
func TestAFencedMemberWithCorruptDataIsReplaced(t *testing.T) {
	s := state(formed, members(3), with(1, outOfService), asks(Asked{Fence: []string{nameOf(1)}}))
	for i := range s.Members {
		s.Members[i].Hash = "same"
		s.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: 2}}
	}
	s.Members[1].Hash = "other"
	if step, removes := Plan(s).(RemoveMember); !removes || step.Name != nameOf(1) {
		t.Errorf("the plan is %+v", Plan(s))
	}
}

// A person fences a member that gives wrong answers. Clients must not reach it because another member fails.
func TestAFenceHoldsWhileAnotherMemberIsReplaced(t *testing.T) {
	s := state(formed, members(3), with(1, outOfService), with(2, gone, removed), asks(Asked{Fence: []string{nameOf(1)}}))
	if step, adds := Plan(s).(AddToService); adds {
		t.Errorf("clients are led to the fenced member again: %+v", step)
	}
}

// Two members need both for a quorum, so none of them can be fenced. If the healthy member were removed, clients would
// reach the fenced one again.
func TestAClusterThatIsTooSmallForAFenceRemovesTheFencedMember(t *testing.T) {
	s := state(formed, members(3), size(2), with(1, outOfService), asks(Asked{Fence: []string{nameOf(1)}}))
	var steps []string
	for range 2 {
		step := Plan(s)
		switch step := step.(type) {
		case AddToService:
			steps = append(steps, "AddToService "+step.Name)
			s.Members[1].InService = true
		case RemoveMember:
			steps = append(steps, "RemoveMember "+step.Name)
			if step.Name != nameOf(1) {
				t.Errorf("the fenced member %s serves clients again, and healthy %s goes: %v", nameOf(1), step.Name, steps)
			}
		}
	}
	if len(steps) > 0 && strings.HasPrefix(steps[0], "AddToService") {
		t.Errorf("steps: %v", steps)
	}
}

// A forgotten fence would leave the cluster without a member, and the status without a cause.
func TestTheStatusNamesTheFenceThatKeepsAMemberFromBeingReplaced(t *testing.T) {
	s := state(formed, members(3), with(1, pod(PodRunning), outOfService, unreadyFor(time.Hour)), asks(Asked{Fence: []string{nameOf(1)}}))
	wait, _ := Plan(s).(Wait)
	if !strings.Contains(wait.Message, v1beta2.AnnotationFence) {
		t.Errorf("the message does not name the cause: %s", wait.Message)
	}
}

// A person who tries fences would wait 10 minutes for the fourth one, and look for a webhook that does not exist.
func TestAFenceThatAPersonSetsAndLiftsIsNeverHeld(t *testing.T) {
	var repeats Repeats
	for i := range 3 {
		now := noon.Add(time.Duration(i) * 6 * time.Minute)
		repeats.Did(State{}, RemoveFromService{Name: nameOf(1)}, 1, now)
		repeats.Did(State{}, AddToService{Name: nameOf(1)}, 1, now.Add(3*time.Minute))
	}
	s := state(formed, members(3), asks(Asked{Fence: []string{nameOf(1)}}))
	s.Now = noon.Add(17 * time.Minute)
	s.Held = repeats.Held(1, s.Now)
	if step, is := Plan(s).(RemoveFromService); !is {
		t.Errorf("the fourth fence is not carried out: %+v %+v", Plan(s), step)
	}
}

// A person who asks for a replacement of a member that is down would wait for the grace period without knowing it.
func TestTheStatusSaysWhenAMemberThatIsDownIsReplacedOnRequest(t *testing.T) {
	s := state(formed, members(3), with(1, pod(PodRunning), unreadyFor(time.Hour)), asks(Asked{Replace: []string{nameOf(1)}}), grace(24*time.Hour))
	wait, _ := Plan(s).(Wait)
	if !strings.Contains(wait.Message, "or when it has not served for 24h0m0s") {
		t.Errorf("the plan is %+v", Plan(s))
	}
}

// A cluster of three that grows to five may fence two members later. One voter must be left in the client Service.
func TestAFenceLeavesAVoterInTheClientService(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		s := state(formed, members(n), size(5), asks(Asked{Fence: []string{nameOf(0), nameOf(1), nameOf(2)}}))
		if got := len(s.fenced()); got != min(n-1, 2) {
			t.Errorf("%d of %d voters are fenced", got, n)
		}
	}
}

// In a cluster of five that shrinks to three, a fence holds, and a person may still look at the member.
func TestAClusterThatIsLargeEnoughForAFenceKeepsTheFencedMember(t *testing.T) {
	s := state(formed, members(4), size(3), with(3, outOfService), asks(Asked{Fence: []string{nameOf(3)}}))
	if step, removes := Plan(s).(BeginRemoval); !removes || step.Voter == nameOf(3) {
		t.Errorf("the plan is %+v", Plan(s))
	}
}

package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Each test here fails on purpose: it proves a finding of a reader.

func TestReaderAConsentByAnIDAsEtcdctlPrintsIt(t *testing.T) {
	s := state(formed, members(3), guest(withoutVote), func(s *State) { s.Asked.RemoveForeign = []string{"f00"} })
	if _, removes := Plan(s).(RemoveMember); !removes {
		t.Errorf("etcdctl member list prints f00, and the plan is %+v", Plan(s))
	}
}

func TestReaderARemovalIsRecordedBeforeItIsDone(t *testing.T) {
	s := state(formed, members(4), size(4), with(3, gone))
	removal, removes := Plan(s).(RemoveMember)
	if !removes {
		t.Fatalf("the plan is %+v", Plan(s))
	}
	status := NewStatus(s, removal, nil, v1beta2.EtcdClusterStatus{}, 1)
	// The operator is killed here. etcd has 3 voters now. Member 2 loses its volume, 0 and 1 elect a leader.
	next := state(formed, members(3), size(4), noQuorum, consenting, with(2, gone), with(0, knows(42, 3)), with(1, knows(41, 3)))
	seen := v1beta2.EtcdCluster{Status: status}
	next.KnownVoters = NewState(&seen).KnownVoters
	if step, begins := Plan(next).(BeginRecovery); begins {
		t.Errorf("2 of 3 voters hold data, and the operator begins %+v with %d known voters", step, len(next.KnownVoters))
	}
}

func TestReaderAHeldStepForOneMemberLeavesTheOthersTheirTurn(t *testing.T) {
	var repeats Repeats
	s := state(formed, members(3), with(0, func(m *Member) { m.InService = false }), with(1, func(m *Member) { m.InService = false }))
	added := map[string]int{}
	for range 60 * 60 {
		s.Held = repeats.Held(1, s.Now)
		step := Plan(s)
		if add, is := step.(AddToService); is {
			added[add.Name]++
		}
		repeats.Did(step, 1, s.Now)
		s.Now = s.Now.Add(time.Second)
	}
	if added[nameOf(1)] == 0 {
		t.Errorf("in an hour: %d attempts for %s, which a webhook reverses, and %d for %s", added[nameOf(0)], nameOf(0), added[nameOf(1)], nameOf(1))
	}
}

func TestReaderAFenceThatAPersonSetsAndLiftsIsNeverHeld(t *testing.T) {
	var repeats Repeats
	for i := range 3 {
		now := noon.Add(time.Duration(i) * 6 * time.Minute)
		repeats.Did(RemoveFromService{Name: nameOf(1)}, 1, now)
		repeats.Did(AddToService{Name: nameOf(1)}, 1, now.Add(3*time.Minute))
	}
	s := state(formed, members(3), asks(Asked{Fence: []string{nameOf(1)}}))
	s.Now = noon.Add(17 * time.Minute)
	s.Held = repeats.Held(1, s.Now)
	if step, is := Plan(s).(RemoveFromService); !is {
		t.Errorf("the fourth fence is not carried out: %+v %+v", Plan(s), step)
	}
}

func TestReaderTheStatusSaysThatWritesAreRefused(t *testing.T) {
	full := func(s *State) {
		for i := range s.Members {
			s.Members[i].DBSize, s.Members[i].DBSizeInUse, s.Members[i].DBQuota = 100, 100, 100
			s.Members[i].Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 1}}
		}
		s.Spec.NoSpace = &v1beta2.NoSpacePolicy{Action: v1beta2.NoSpaceWait}
	}
	for name, c := range map[string]change{
		"a Secret for authentication that is off":       func(s *State) { s.Authentication.Problem = "Secret x is missing." },
		"a foreign learner":                             guest(withoutVote),
		"a fence that is refused":                       asks(Asked{Fence: []string{nameOf(0), nameOf(1)}}),
		"nothing else":                                  func(*State) {},
		"a user that lacks the role root (one refusal)": with(1, deniedBy(etcd.RefusedRole)),
	} {
		s := state(formed, members(3), full, c, with(0, outOfService))
		s.Members[0].InService = !slices.Contains(s.Asked.Fence, nameOf(0))
		wait, _ := Plan(s).(Wait)
		status := NewStatus(s, wait, nil, v1beta2.EtcdClusterStatus{}, 1)
		said := status.Reason
		for _, cond := range status.Conditions {
			said += cond.Message
		}
		if !strings.Contains(said, "quota") {
			t.Errorf("%s: nothing in the status says that etcd refuses writes: %s", name, wait.Reason)
		}
	}
}

func TestReaderAShrinkingClusterDropsTheFencedMember(t *testing.T) {
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

func TestReaderAVolumeSetAsideIsKeptIfTheSpecAsksToRetain(t *testing.T) {
	// It was set aside while the policy was Delete, so it has an owner; then the policy becomes Retain.
	s := state(formed, members(3), with(0, kept), with(1, kept), with(2, kept), retained, aside("example-old", time.Hour))
	if step := Plan(s); step == (Done{}) {
		t.Error("the cluster is done, and the volume with the data from before is deleted with the EtcdCluster")
	}
}

func TestReaderANegativeCountOfFailuresDoesNotPanic(t *testing.T) {
	defer func() {
		if why := recover(); why != nil {
			t.Errorf("Plan panics: %v", why)
		}
	}()
	s := state(formed, members(3), with(1, pod(PodEnded)))
	s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(1), Count: -1}}
	Plan(s)
}

func TestReaderNamesOnLinesOfTheirOwn(t *testing.T) {
	if got := NewAsked(map[string]string{v1beta2.AnnotationFence: "a,\nb\n"}).Fence; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names are %q", got)
	}
}

func TestReaderADrainLeavesAQuorumBesideALearnerThatTheServiceSelects(t *testing.T) {
	// The Pod of a learner was made while no quorum answered, so it has the label of a voter. It does not answer the operator.
	s := state(formed, members(3), size(4), with(3, learner, func(m *Member) { m.InService, m.PodReady, m.Answers = true, true, false }))
	selected := 0
	for _, m := range s.Members {
		if m.InService && m.PodReady {
			selected++
		}
	}
	if may := selected - s.minAvailable(); may > 1 {
		t.Errorf("the budget selects %d Pods that are ready and lets a drain take %d of 3 voters", selected, may)
	}
	for range 5 {
		if _, is := Plan(s).(RemoveFromService); is {
			return
		}
	}
	t.Errorf("no rule takes a learner out of the client Service: %T", Plan(s))
}

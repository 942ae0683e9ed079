package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A webhook removed the mark of the certificates from Pods again and again, and each correction began the time of all waits again. So the
// status showed progress for hours, and no alert fired, although a member did not start.
func TestAStepOfAnEarlierRuleDoesNotBeginAWaitAgain(t *testing.T) {
	starting := []change{formed, members(3), with(2, pod(state.PodStarting), unreadyFor(time.Minute))}
	waiting := stateWith(starting...)
	wait, waits := Plan(waiting).(steps.Wait)
	if !waits || wait.Stalled {
		t.Fatalf("the plan is %T %+v, want a wait", Plan(waiting), wait)
	}
	for name, test := range map[string]struct {
		change change
		keeps  bool
	}{
		"a Service is corrected":      {func(s *state.State) { s.Services.HeadlessCurrent = false }, true},
		"certificates are loaded":     {func(s *state.State) { withTLS(s); s.Certificates.Loaded = "newer" }, true},
		"it serves, with a new label": {func(s *state.State) { voter(&s.Members[2]); s.Members[2].Relabel = true }, false},
	} {
		s := stateWith(append(starting, test.change)...)
		s.Waiting.Saw([]state.WaitKey{wait.Key()}, s.Now.Add(-10*time.Minute))
		step := Plan(s)
		if !steps.Acts(step) {
			t.Errorf("%s: the plan is %T, want a step before the wait", name, step)
			continue
		}
		s.Waiting.Saw(Waits(s, step), s.Now)
		if _, lasted := state.Lasted(s, wait.Key()); (lasted == 10*time.Minute) != test.keeps {
			t.Errorf("%s (%T): the wait has lasted for %s, want that it keeps its time: %t", name, step, lasted, test.keeps)
		}
	}
}

// A member that is created again is waited for anew. Otherwise, its wait would be stalled before it had its time.
func TestProgressBeginsAWaitAgain(t *testing.T) {
	s := stateWith(formed, members(3))
	about := func(i int) state.WaitKey {
		return steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(i) + " is starting."}.Key()
	}
	lost := stateWith(formed, members(3), noQuorum)
	before, _ := Plan(lost).(steps.Wait)
	lost = stateWith(formed, members(3), noQuorum, with(2, withoutPod))
	lost.Waiting.Saw([]state.WaitKey{before.Key()}, lost.Now)
	if step := Plan(lost); len(Waits(lost, step)) > 0 {
		t.Errorf("%T is no progress of the wait for a quorum: %v", step, Waits(lost, step))
	}
	nobody := steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers."}.Key()
	for name, test := range map[string]struct {
		step   steps.Step
		key    state.WaitKey
		nearer bool
	}{
		"the Pod of the member":                   {steps.CreateMember{Name: nameOf(2), Incarnation: 1, Start: state.StartRejoin}, about(2), true},
		"the Pod of another member":               {steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}, about(2), false},
		"any Pod, and the wait names no member":   {steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}, nobody, true},
		"the labels of the member's Pod":          {steps.RestoreLabels{Name: nameOf(2)}, about(2), false},
		"a Service, and the wait names no member": {steps.ApplyServices{}, nobody, false},
	} {
		if nearer := bringsNearer(s, test.step, test.key); nearer != test.nearer {
			t.Errorf("%s: progress of the wait: %t, want %t", name, nearer, test.nearer)
		}
	}
}

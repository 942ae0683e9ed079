package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// If an admission webhook changes the Services, the operator must not write them in an endless loop. It must still manage the
// members.
func TestAServiceThatAdmissionChangesIsWrittenAtMostFourTimesInTenMinutes(t *testing.T) {
	var repeats Repeats
	s := stateWith(formed, members(3), func(s *state.State) { s.Services.HeadlessCurrent = false })
	writes := 0
	for range 10 * 60 {
		s.Held = repeats.Held(1, s.Now)
		step := Plan(s)
		if _, applies := step.(steps.ApplyServices); applies {
			writes++
		}
		repeats.Did(s, step, 1, s.Now)
		s.Now = s.Now.Add(time.Second)
	}
	if writes != repeatsBeforeHold {
		t.Errorf("%d writes in 10 minutes, want %d", writes, repeatsBeforeHold)
	}
	wait, waits := Plan(s).(steps.Wait)
	if !waits || wait.Reason != v1beta2.ReasonChangedByOthers || !wait.Stalled || !strings.Contains(wait.Message, "12:10:02Z") {
		t.Errorf("the plan is %+v, want a stalled wait that names the next attempt", wait)
	}
	again := 0
	for range 20 * 60 {
		s.Held = repeats.Held(1, s.Now)
		step := Plan(s)
		if _, applies := step.(steps.ApplyServices); applies {
			again++
		}
		repeats.Did(s, step, 1, s.Now)
		s.Now = s.Now.Add(time.Second)
	}
	if again != 2 {
		t.Errorf("%d writes in the 20 minutes after, want 2", again)
	}
}

func TestAHeldStepKeepsNothingElseFromBeingDone(t *testing.T) {
	s := stateWith(formed, members(3), size(4), func(s *state.State) { s.Services.HeadlessCurrent = false })
	s.Held = []state.Held{{Step: steps.RepeatKey(s, Plan(s)), Times: 3, Until: s.Now.Add(time.Minute)}}
	if step, is := Plan(s).(steps.AddLearner); !is {
		t.Errorf("the plan is %T, want a new member", step)
	}
}

func TestWhatTheUserChangesIsNeverHeld(t *testing.T) {
	var repeats Repeats
	for i := range 9 {
		repeats.Did(stateWith(), steps.ApplyBudget{Incarnation: 1, MinAvailable: 2 + i%2}, 1, noon)
		repeats.Did(stateWith(), steps.RelabelPod{Name: "m"}, int64(i), noon)
	}
	if held := append(repeats.Held(1, noon), repeats.Held(8, noon)...); len(held) > 0 {
		t.Errorf("held: %+v", held)
	}
	for range 3 {
		repeats.Did(stateWith(), steps.ApplyServices{}, 8, noon)
	}
	repeats.Forget(steps.ApplyServices{Incarnation: 1})
	if held := repeats.Held(8, noon); len(held) > 0 {
		t.Errorf("a deleted Service is held: %+v", held)
	}
}

func TestTheDeletionOfAStoppedPodIsNotHeldForHoursIfTheClockWasAhead(t *testing.T) {
	var repeats Repeats
	s := stateWith(formed, members(3), with(1, pod(state.PodEnded)))
	repeats.Refused(s, steps.DeletePod{Name: nameOf(1)}, "why")
	for at, want := range map[time.Duration]int{0: 1, -time.Hour: 0} {
		if held := repeats.Held(0, noon.Add(at)); len(held) != want {
			t.Errorf("%s after the refusal, %d deletions are held, want %d", at, len(held), want)
		}
	}
}

// Another party reversed a step three times, and has stopped. Twenty minutes later a repetition is a new one: otherwise each later change of the Services would be
// delayed by ten minutes.
func TestARepetitionAfterTwentyMinutesIsANewOne(t *testing.T) {
	for later, held := range map[time.Duration]bool{20*time.Minute - time.Second: true, 20 * time.Minute: false, time.Hour: false} {
		var repeats Repeats
		s := stateWith(formed, members(3), func(s *state.State) { s.Services.HeadlessCurrent = false })
		step := Plan(s)
		for range repeatsBeforeHold {
			repeats.Did(s, step, 1, s.Now)
		}
		repeats.Did(s, step, 1, s.Now.Add(later))
		if is := len(repeats.Held(1, s.Now.Add(later))) == 1; is != held {
			t.Errorf("after %s: the step is held: %t", later, is)
		}
	}
}

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// repeatsBeforeHold is how often a step may set the same object to the same content before it is held.
	repeatsBeforeHold = 3
	// holdFor is how long a held step is not repeated. A step that is repeated right after is held again.
	holdFor = 10 * time.Minute
)

// Repeats remembers which steps that set an object to wanted content were carried out, and how often in a row. Its zero
// value is ready to use. It is not safe for concurrent use.
type Repeats struct {
	generation int64
	steps      map[string]repeat
	// stops by the names of Pods.
	stops map[string]refusedStop
}

type repeat struct {
	step  string
	times int
	last  time.Time
}

// Did records a step that was carried out on a state, for a generation of the spec.
func (r *Repeats) Did(s state.State, step steps.Step, generation int64, now time.Time) {
	if create, is := step.(steps.CreateMember); is {
		delete(r.stops, create.Name)
		delete(r.steps, steps.ObjectKey(steps.ReleaseMember{Name: create.Name})) // another Pod
	}
	object := steps.RepeatedObject(s, step)
	if object == "" {
		return
	}
	if r.generation != generation || r.steps == nil {
		r.generation, r.steps = generation, map[string]repeat{}
	}
	before := r.steps[object]
	key := steps.RepeatKey(s, step)
	if before.step != key || now.Sub(before.last) >= 2*holdFor {
		before = repeat{step: key}
	}
	r.steps[object] = repeat{step: key, times: before.times + 1, last: now}
	// A person who sets and lifts a fence is not something else that reverses a step.
	switch step := step.(type) {
	case steps.AddToService:
		delete(r.steps, steps.ObjectKey(steps.RemoveFromService(step)))
	case steps.RemoveFromService:
		delete(r.steps, steps.ObjectKey(steps.AddToService(step)))
	}
}

// Forget forgets the steps that make an object. A deleted object is created again at once.
func (r *Repeats) Forget(step steps.Step) {
	kind := fmt.Sprintf("%T", step)
	maps.DeleteFunc(r.steps, func(object string, _ repeat) bool { return strings.HasPrefix(object, kind) })
}

// Held returns the steps that are not to be repeated now.
func (r *Repeats) Held(generation int64, now time.Time) []state.Held {
	held := r.heldStops(now)
	if r.generation != generation {
		return held
	}
	for _, did := range r.steps {
		if until := did.last.Add(holdFor); did.times >= repeatsBeforeHold && now.Before(until) {
			held = append(held, state.Held{Step: did.step, Times: did.times, Until: until})
		}
	}
	return held
}

// Refuse keeps the plan from returning a step again in this pass, because it failed. The rule that returned it continues to
// its next object.
func Refuse(s *state.State, step steps.Step) {
	s.Held = append(slices.Clone(s.Held), state.Held{Step: steps.RepeatKey(*s, step), Until: s.Now.Add(holdFor)})
}

// Choose plans without steps that are held, and past waits and steps that were refused. It returns the name of the rule that decided.
func Choose(s state.State) (steps.Step, string) {
	c := choose(s)
	if fencedInVain(s, c) {
		return steps.ReturnToSeeding{}, "restore"
	}
	return c.step, c.rule
}

func choose(s state.State) choice {
	skip := func(rule string, step steps.Step) bool {
		h, is := waits.Held(s, step)
		return is && (h.Refused == "" || Independent(s, rule, step))
	}
	c := first(Rules, s, skip)
	if c.step == nil || c.note != nil && c.waiting == nil && steps.Reports(c.step) {
		held := firstHeld(s)
		wait, waits := held.(steps.Wait)
		switch {
		case c.step == nil:
			c.step = held
			return c
		case waits: // a report hides nothing that another party reverses
			c.waiting, c.by = &wait, c.rule
			return c.end(s)
		}
	}
	c.step = membership.RecordedFirst(s, c.step)
	return c
}

// firstHeld reports the first step that is held, once nothing else is to be done.
func firstHeld(s state.State) steps.Step {
	free, found := s, steps.Step(steps.Done{})
	free.Held = slices.DeleteFunc(slices.Clone(s.Held), func(h state.Held) bool { return h.Times > 0 })
	if len(free.Held) == len(s.Held) {
		return found
	}
	planning.FirstExcept(Rules, free, nil, func(_ string, step steps.Step) bool {
		h, is := waits.Held(s, step)
		if is && h.Times > 0 {
			found = waits.WaitForHeld(s, step, h)
		}
		return !is || h.Times == 0
	})
	return found
}

// refusedStop is how often in a row the API server refused to delete the object of a stopped Pod.
type refusedStop struct {
	held  state.Held
	times int
}

// Refused records that the API server refused to delete the object of a stopped Pod, and why. It returns until when the plan
// does not return that step.
func (r *Repeats) Refused(s state.State, step steps.Step, why string) state.Held {
	if r.stops == nil {
		r.stops = map[string]refusedStop{}
	}
	pod := steps.StoppedPod(step)
	before := r.stops[pod]
	if s.Now.Sub(before.held.Until) >= state.LastRefusal {
		before.times = 0
	}
	pause := min(state.FirstRefusal<<min(before.times, 8), state.LastRefusal)
	held := state.Held{Step: steps.RepeatKey(s, step), Pod: pod, Refused: why, Until: s.Now.Add(pause).Truncate(time.Second)}
	r.stops[pod] = refusedStop{held: held, times: before.times + 1}
	return held
}

// heldStops returns the deletions of stopped Pods that are not to be repeated now.
func (r *Repeats) heldStops(now time.Time) []state.Held {
	var held []state.Held
	for _, stop := range r.stops {
		if left := stop.held.Until.Sub(now); left > 0 && left <= state.LastRefusal { // not for hours, if the clock was ahead
			held = append(held, stop.held)
		}
	}
	slices.SortFunc(held, func(a, b state.Held) int { return cmp.Compare(a.Pod, b.Pod) })
	return held
}

// RefusedStop says what the API server refused, what that means and what to do, without the last full stop. It is empty if no
// deletion of a stopped Pod is held.
func RefusedStop(s state.State) string {
	for _, h := range s.Held {
		m, _ := state.Find(s, h.Pod)
		if there := m.Pod == state.PodEnded || m.Pod == state.PodDeleting; h.Refused != "" && there {
			return fmt.Sprintf("The operator cannot delete the object of a Pod that has stopped: %s. No other Pod of that name can start. "+
				"Exempt the Pods of this cluster from what refuses it. The operator tries again at %s", h.Refused, h.Until.UTC().Format(time.RFC3339))
		}
	}
	return ""
}

// Plan returns the next step. It is pure: the same State gives the same Step.
func Plan(s state.State) steps.Step {
	step, _ := Choose(s)
	return step
}

// Waits are the waits that hold in a state: the one that a step of the pass is, and each one that the plan met on the way to that step. So
// a wait keeps its time if it is reported behind another one, or if a step was carried out past it. The time of the first wait begins when
// it is reported. A step of a rule before that of the wait does not end the wait, unless the step brings nearer what is waited for.
func Waits(s state.State, step steps.Step) []state.WaitKey {
	wait, waits := step.(steps.Wait)
	if !waits && len(s.Waiting.Since()) == 0 {
		return nil
	}
	met := choose(s).waits
	if waits {
		met = append(met, wait.Key())
	}
	if steps.Acts(step) {
		met = append(met, stillWaits(s, step)...)
	}
	return met
}

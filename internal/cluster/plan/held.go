package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
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
func (r *Repeats) Did(s state.State, step Step, generation int64, now time.Time) {
	if create, is := step.(CreateMember); is {
		delete(r.stops, create.Name)
		delete(r.steps, objectKey(ReleaseMember{Name: create.Name})) // another Pod
	}
	object := repeatedObject(s, step)
	if object == "" {
		return
	}
	if r.generation != generation || r.steps == nil {
		r.generation, r.steps = generation, map[string]repeat{}
	}
	before := r.steps[object]
	key := repeatKey(s, step)
	if before.step != key || now.Sub(before.last) >= 2*holdFor {
		before = repeat{step: key}
	}
	r.steps[object] = repeat{step: key, times: before.times + 1, last: now}
	// A person who sets and lifts a fence is not something else that reverses a step.
	switch step := step.(type) {
	case AddToService:
		delete(r.steps, objectKey(RemoveFromService(step)))
	case RemoveFromService:
		delete(r.steps, objectKey(AddToService(step)))
	}
}

// objectKey names the object of a step by the step's message.
func objectKey(step Step) string {
	return fmt.Sprintf("%T %s", step, Describe(state.State{}, step).Message)
}

// Forget forgets the steps that make an object. A deleted object is created again at once.
func (r *Repeats) Forget(step Step) {
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

// repeatedObject names what a step sets to wanted content. It is empty for all other steps.
func repeatedObject(s state.State, step Step) string {
	switch step := step.(type) {
	case ApplyServices:
		return fmt.Sprintf("%T%s", step, differing(s, step))
	case ApplyBudget, WithdrawBudget, ApplyNetworkPolicy, WithdrawNetworkPolicy:
		return fmt.Sprintf("%T", step)
	case AddToService, RemoveFromService, ReleaseMember, RelabelPod, ApplyMetadata, ForbidEmptyStart, ResizePod, RestoreLabels, LoadCertificates, KeepVolume, ResizeVolume, UnmarkVolume:
		return objectKey(step)
	case SetAsideVolume:
		return fmt.Sprintf("%T %s", step, step.Name)
	}
	return ""
}

// repeatKey words a step. ApplyServices is about two objects, and is another step if the other one has to be corrected.
func repeatKey(s state.State, step Step) string {
	if DeletesStopped(s, step) {
		return "the stopped Pod " + stoppedPod(step)
	}
	return fmt.Sprintf("%T %+v%s", step, step, differing(s, step))
}

// differing names the Services that ApplyServices has to correct.
func differing(s state.State, step Step) string {
	if _, is := step.(ApplyServices); !is {
		return ""
	}
	headless, forClients := state.ServicesCurrent(s)
	return fmt.Sprintf(", current: %t, %t", headless, forClients)
}

// Refuse keeps the plan from returning a step again in this pass, because it failed. The rule that returned it continues to
// its next object.
func Refuse(s *state.State, step Step) {
	s.Held = append(slices.Clone(s.Held), state.Held{Step: repeatKey(*s, step), Until: s.Now.Add(holdFor)})
}

// may reports whether a step is neither held nor was refused in this pass. A rule that has one step for each of several
// objects asks it, so that one object never stops the others.
func may(s state.State, step Step) bool {
	_, is := held(s, step)
	return !is
}

// held returns the entry of a step that is not to be repeated now.
func held(s state.State, step Step) (state.Held, bool) {
	if len(s.Held) == 0 {
		return state.Held{}, false
	}
	key := repeatKey(s, step)
	for _, h := range s.Held {
		if h.Step == key && s.Now.Before(h.Until) {
			return h, true
		}
	}
	return state.Held{}, false
}

// waitForHeld reports a step that has no effect, once everything else is as the spec asks.
func waitForHeld(s state.State, step Step, h state.Held) Step {
	return Wait{
		Reason: v1beta2.ReasonChangedByOthers,
		Message: fmt.Sprintf("Another party reverses a change of the operator. The operator made it %d times: %s The members serve. The object remains as the other party wrote it. "+
			"Exempt the objects of this cluster from the admission webhook or controller that changes them. The operator tries again at %s.",
			h.Times, Describe(s, step).Message, h.Until.UTC().Format(time.RFC3339)),
		Stalled: true, Requeue: state.RequeueStalled,
	}
}

// Choose plans without steps that are held, and past waits and steps that were refused. It returns the name of the rule that decided.
func Choose(s state.State) (Step, string) {
	c := choose(s)
	if fencedInVain(s, c) {
		return ReturnToSeeding{}, "restore"
	}
	return c.step, c.rule
}

func choose(s state.State) choice {
	skip := func(rule string, step Step) bool {
		h, is := held(s, step)
		return is && (h.Refused == "" || Independent(s, rule, step))
	}
	c := first(Rules, s, skip)
	if c.step == nil || c.note != nil && c.waiting == nil && reports(c.step) {
		held := firstHeld(s)
		wait, waits := held.(Wait)
		switch {
		case c.step == nil:
			c.step = held
			return c
		case waits: // a report hides nothing that another party reverses
			c.waiting, c.by = &wait, c.rule
			return c.end(s)
		}
	}
	c.step = recordedFirst(s, c.step)
	return c
}

// firstHeld reports the first step that is held, once nothing else is to be done.
func firstHeld(s state.State) Step {
	free, found := s, Step(Done{})
	free.Held = slices.DeleteFunc(slices.Clone(s.Held), func(h state.Held) bool { return h.Times > 0 })
	if len(free.Held) == len(s.Held) {
		return found
	}
	planning.FirstExcept(Rules, free, nil, func(_ string, step Step) bool {
		h, is := held(s, step)
		if is && h.Times > 0 {
			found = waitForHeld(s, step, h)
		}
		return !is || h.Times == 0
	})
	return found
}

package plan

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

const (
	// repeatsBeforeHold is how often a step may set the same object to the same content before it is held.
	repeatsBeforeHold = 3
	// holdFor is how long a held step is not repeated. A step that is repeated right after is held again.
	holdFor = 10 * time.Minute
)

// Held is a step that the operator has carried out several times, and that something else reverses each time: an
// admission webhook, for example. The plan does not return the step before Until.
type Held struct {
	// Step as repeatKey words it.
	Step  string
	Times int
	Until time.Time
}

// Repeats remembers which steps that set an object to wanted content were carried out, and how often in a row. Its zero
// value is ready to use. It is not safe for concurrent use.
type Repeats struct {
	generation int64
	steps      map[string]repeat
}

type repeat struct {
	step  string
	times int
	last  time.Time
}

// Did records a step that was carried out for a generation of the spec.
func (r *Repeats) Did(step Step, generation int64, now time.Time) {
	object := repeatedObject(step)
	if object == "" {
		return
	}
	if r.generation != generation || r.steps == nil {
		r.generation, r.steps = generation, map[string]repeat{}
	}
	before := r.steps[object]
	key := repeatKey(step)
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
func objectKey(step Step) string { return fmt.Sprintf("%T %s", step, Describe(State{}, step).Message) }

// Forget forgets the steps that make an object. A deleted object is created again at once.
func (r *Repeats) Forget(step Step) { delete(r.steps, repeatedObject(step)) }

// Held returns the steps that are not to be repeated now.
func (r *Repeats) Held(generation int64, now time.Time) []Held {
	if r.generation != generation {
		return nil
	}
	var held []Held
	for _, did := range r.steps {
		if until := did.last.Add(holdFor); did.times >= repeatsBeforeHold && now.Before(until) {
			held = append(held, Held{Step: did.step, Times: did.times, Until: until})
		}
	}
	return held
}

// repeatedObject names what a step sets to wanted content. It is empty for all other steps.
func repeatedObject(step Step) string {
	switch step := step.(type) {
	case ApplyServices, ApplyBudget:
		return fmt.Sprintf("%T", step)
	case AddToService, RemoveFromService, RelabelPod, RestoreLabels, LoadCertificates, KeepVolume, ResizeVolume:
		return objectKey(step)
	case SetAsideVolume:
		return fmt.Sprintf("%T %s", step, step.Name)
	}
	return ""
}

func repeatKey(step Step) string { return fmt.Sprintf("%T %+v", step, step) }

// held returns the entry of a step that is not to be repeated now.
func (s State) held(step Step) (Held, bool) {
	if len(s.Held) == 0 {
		return Held{}, false
	}
	key := repeatKey(step)
	for _, h := range s.Held {
		if h.Step == key && s.Now.Before(h.Until) {
			return h, true
		}
	}
	return Held{}, false
}

// waitForHeld reports a step that has no effect, once everything else is as the spec asks.
func waitForHeld(s State, step Step, h Held) Step {
	return Wait{
		Reason: v1beta2.ReasonChangedByOthers,
		Message: fmt.Sprintf("Something else reverses what the operator sets. The operator did this %d times: %s The members serve, and the object keeps what the other party made of it. "+
			"Exempt the objects of this cluster from the admission webhook or controller that changes them; the operator tries again at %s.",
			h.Times, Describe(s, step).Message, h.Until.UTC().Format(time.RFC3339)),
		Stalled: true, Requeue: requeueStalled,
	}
}

// Choose plans without the rules named in refused, and without steps that are held. It returns the name of the rule
// that decided.
func Choose(s State, refused map[string]bool) (Step, string) {
	var otherwise Step = Done{}
	skip := func(name string, step Step) bool {
		if refused[name] {
			return true
		}
		h, is := s.held(step)
		if is && otherwise == Step(Done{}) {
			otherwise = waitForHeld(s, step, h)
		}
		return is
	}
	step, name := planning.FirstExcept(Rules, s, Step(nil), skip)
	if step == nil {
		return otherwise, ""
	}
	return step, name
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// A Pod that has stopped holds up only its own member. If the API server refuses to delete its object, the operator does all
// else that it can, and tries the deletion again after a pause.

// refusedStop is how often in a row the API server refused to delete the object of a stopped Pod.
type refusedStop struct {
	held  state.Held
	times int
}

// DeletesStopped reports whether a step deletes the object of a Pod of which nothing runs any more.
func DeletesStopped(s state.State, step Step) bool {
	switch step := step.(type) {
	case ForceDeletePod:
		return step.Stopped
	case DeletePod:
		m, _ := state.Find(s, step.Name)
		return m.Pod == state.PodEnded
	}
	return false
}

// stoppedPod returns the Pod of a step that DeletesStopped.
func stoppedPod(step Step) string {
	if forced, is := step.(ForceDeletePod); is {
		return forced.Name
	}
	deleted, _ := step.(DeletePod)
	return deleted.Name
}

// Refused records that the API server refused to delete the object of a stopped Pod, and why. It returns until when the plan
// does not return that step.
func (r *Repeats) Refused(s state.State, step Step, why string) state.Held {
	if r.stops == nil {
		r.stops = map[string]refusedStop{}
	}
	pod := stoppedPod(step)
	before := r.stops[pod]
	if s.Now.Sub(before.held.Until) >= state.LastRefusal {
		before.times = 0
	}
	pause := min(state.FirstRefusal<<min(before.times, 8), state.LastRefusal)
	held := state.Held{Step: repeatKey(s, step), Pod: pod, Refused: why, Until: s.Now.Add(pause).Truncate(time.Second)}
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

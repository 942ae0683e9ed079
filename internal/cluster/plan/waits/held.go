package waits

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// May reports whether a step is neither held nor was refused in this pass. A rule that has one step for each of several
// objects asks it, so that one object never stops the others.
func May(s state.State, step steps.Step) bool {
	_, is := Held(s, step)
	return !is
}

// Held returns the entry of a step that is not to be repeated now.
func Held(s state.State, step steps.Step) (state.Held, bool) {
	if len(s.Held) == 0 {
		return state.Held{}, false
	}
	key := steps.RepeatKey(s, step)
	for _, h := range s.Held {
		if h.Step == key && s.Now.Before(h.Until) {
			return h, true
		}
	}
	return state.Held{}, false
}

// WaitForHeld reports a step that has no effect, once everything else is as the spec asks.
func WaitForHeld(s state.State, step steps.Step, h state.Held) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonChangedByOthers,
		Message: fmt.Sprintf("Another party reverses a change of the operator. The operator made it %d times: %s The members serve. The object remains as the other party wrote it. "+
			"Exempt the objects of this cluster from the admission webhook or controller that changes them. The operator tries again at %s.",
			h.Times, steps.Describe(s, step).Message, h.Until.UTC().Format(time.RFC3339)),
		Stalled: true, Requeue: state.RequeueStalled,
	}
}

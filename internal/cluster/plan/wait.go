package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// bringsNearer reports whether a step is progress of a wait: it is about the member that the wait is about, or about any member if the wait
// names none.
func bringsNearer(s state.State, step steps.Step, key state.WaitKey) bool {
	if steps.Upkeep(step) {
		return false
	}
	message, named := steps.Describe(s, step).Message, false
	for _, m := range s.Members {
		if strings.Contains(key.About, m.Name) {
			named = true
			if strings.Contains(message, m.Name) {
				return true
			}
		}
	}
	return !named
}

// Bounded returns the wait, stalled if the operator has waited for the same thing longer than the limit.
func Bounded(s state.State, wait steps.Wait) steps.Wait {
	since, lasted := state.Lasted(s, wait.Key())
	if wait.Stalled || lasted < wait.Bound() {
		return wait
	}
	advice := cmp.Or(wait.Advice, "Read the events and the logs of what the message names: kubectl etcd status "+s.Name+".")
	wait.Was, wait.Stalled, wait.Reason = wait.Key(), true, cmp.Or(wait.Overdue, v1beta2.ReasonWaitTooLong)
	wait.Message = fmt.Sprintf("%s The operator has waited since %s, longer than %s. %s", wait.Message, since.UTC().Format(time.RFC3339), wait.Bound(), advice)
	return wait
}

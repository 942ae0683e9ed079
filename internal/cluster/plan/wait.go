package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Wait says that something must happen first that the operator does not do itself. A wait has a limit. After that it is stalled, and the
// message has since when the operator waits, and what to do. So no wait lasts without a word.
type Wait struct {
	Reason, Message string
	// Stalled: a person must act.
	Stalled bool
	// Requeue is when to look again, if a look costs much or no user waits for it. 0 is the interval of starting members,
	// or of a cluster that waits for a person.
	Requeue time.Duration
	// Limit is how long the wait may last before it is stalled; 0 is waitLimit.
	Limit time.Duration
	// Overdue is the reason of the conditions after the limit; empty is WaitTooLong. Advice is what to do then.
	Overdue, Advice string
	// Progress changes when what is waited for comes nearer. The time begins again then.
	Progress int64
	// Was tells what the wait was for before it was stalled.
	Was state.WaitKey
}

func (step Wait) describe(s state.State) planning.Description {
	d := planning.Description{Reason: step.Reason, Message: step.Message, Requeue: cmp.Or(step.Requeue, state.RequeueStarting)}
	if !step.Stalled {
		return d
	}
	d.Requeue = cmp.Or(step.Requeue, state.StalledRequeue(s))
	return warned(d, step.Reason, "Wait")
}

// Bound is how long the wait may last.
func (step Wait) Bound() time.Duration { return cmp.Or(step.Limit, state.WaitLimit) }

func (step Wait) key() state.WaitKey {
	if step.Was != (state.WaitKey{}) {
		return step.Was
	}
	return state.WaitKey{Reason: step.Reason, Overdue: step.Overdue, About: state.FirstWords(step.Message), Progress: step.Progress}
}

// Waits are the waits that hold in a state: the one that a step of the pass is, and each one that the plan met on the way to that step. So
// a wait keeps its time if it is reported behind another one, or if a step was carried out past it. The time of the first wait begins when
// it is reported. A step of a rule before that of the wait does not end the wait, unless the step brings nearer what is waited for.
func Waits(s state.State, step Step) []state.WaitKey {
	wait, waits := step.(Wait)
	if !waits && len(s.Waiting.Since()) == 0 {
		return nil
	}
	met := choose(s).waits
	if waits {
		met = append(met, wait.key())
	}
	if Acts(step) {
		met = append(met, stillWaits(s, step)...)
	}
	return met
}

// stillWaits are the waits that began before a step was carried out, and that its rule hides.
func stillWaits(s state.State, step Step) []state.WaitKey {
	hidden := first(Rules, s, func(_ string, other Step) bool { return Acts(other) }).waits
	return slices.DeleteFunc(hidden, func(key state.WaitKey) bool {
		_, began := s.Waiting.Since()[key]
		return !began || bringsNearer(s, step, key)
	})
}

// bringsNearer reports whether a step is progress of a wait: it is about the member that the wait is about, or about any member if the wait
// names none.
func bringsNearer(s state.State, step Step, key state.WaitKey) bool {
	if upkeep(step) {
		return false
	}
	message, named := Describe(s, step).Message, false
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

// upkeep reports whether a step only keeps something as it should be, so that it may be carried out again and again.
func upkeep(step Step) bool {
	switch step.(type) {
	case KeepVolume, ResizeVolume, CreateCA, ReplaceCA, RemovePreviousCA, RequestCertificates, WriteCertificates, LoadCertificates,
		ApplyServices, ApplyNetworkPolicy, WithdrawNetworkPolicy, ApplyBudget, WithdrawBudget, RestoreLabels, RelabelPod, ApplyMetadata, AddToService, RemoveFromService, ForbidEmptyStart, UnmarkVolume:
		return true
	}
	return false
}

// Bounded returns the wait, stalled if the operator has waited for the same thing longer than the limit.
func Bounded(s state.State, wait Wait) Wait {
	since, lasted := state.Lasted(s, wait.key())
	if wait.Stalled || lasted < wait.Bound() {
		return wait
	}
	advice := cmp.Or(wait.Advice, "Read the events and the logs of what the message names: kubectl etcd status "+s.Name+".")
	wait.Was, wait.Stalled, wait.Reason = wait.key(), true, cmp.Or(wait.Overdue, v1beta2.ReasonWaitTooLong)
	wait.Message = fmt.Sprintf("%s The operator has waited since %s, longer than %s. %s", wait.Message, since.UTC().Format(time.RFC3339), wait.Bound(), advice)
	return wait
}

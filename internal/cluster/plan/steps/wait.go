package steps

import (
	"cmp"
	"time"

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

func (step Wait) Key() state.WaitKey {
	if step.Was != (state.WaitKey{}) {
		return step.Was
	}
	return state.WaitKey{Reason: step.Reason, Overdue: step.Overdue, About: state.FirstWords(step.Message), Progress: step.Progress}
}

// Upkeep reports whether a step only keeps something as it should be, so that it may be carried out again and again.
func Upkeep(step Step) bool {
	switch step.(type) {
	case KeepVolume, ResizeVolume, CreateCA, ReplaceCA, RemovePreviousCA, HandOutCA, RequestCertificates, WriteCertificates, LoadCertificates,
		ApplyServices, ApplyNetworkPolicy, WithdrawNetworkPolicy, ApplyBudget, WithdrawBudget, RestoreLabels, RelabelPod, ApplyMetadata, AddToService, RemoveFromService, ForbidEmptyStart, UnmarkVolume, ChangeAccounts, AnnounceAccounts, WriteUserCertificates, AnnounceUserCertificates, RequestUserCertificates, WithdrawUserCertificates:
		return true
	}
	return false
}

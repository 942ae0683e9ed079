package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// waitLimit is how long the operator waits for the same thing before it reports that a person must look.
const waitLimit = 15 * time.Minute

// slowWaitLimit is that limit for work that takes long with a large database: to verify a snapshot, or to restore it.
const slowWaitLimit = 30 * time.Minute

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
	Was WaitKey
}

func (step Wait) describe(s State) planning.Description {
	d := planning.Description{Reason: step.Reason, Message: step.Message, Requeue: cmp.Or(step.Requeue, requeueStarting)}
	if !step.Stalled {
		return d
	}
	d.Requeue = cmp.Or(step.Requeue, s.requeueStalled())
	return warned(d, step.Reason, "Wait")
}

// limit is how long the wait may last.
func (step Wait) limit() time.Duration { return cmp.Or(step.Limit, waitLimit) }

// WaitKey tells waits apart. About are the first words of the message, with the member that the wait is about. The rest of the message has
// details that change while the wait is the same.
type WaitKey struct {
	Reason, Overdue, About string
	Progress               int64
}

func (step Wait) key() WaitKey {
	if step.Was != (WaitKey{}) {
		return step.Was
	}
	return WaitKey{Reason: step.Reason, Overdue: step.Overdue, About: firstWords(step.Message), Progress: step.Progress}
}

// firstWords are those of a message before its first detail, without numbers and times.
func firstWords(message string) string {
	words := strings.Fields(message)
	for i, word := range words {
		if strings.HasPrefix(word, "(") {
			words = words[:i]
			break
		}
		if bare := strings.TrimRight(word, ".:,;"); bare != word {
			words = append(words[:i:i], bare)
			break
		}
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }), " ")
}

// Waiting is what the operator waits for, and since when for each of these waits. Its zero value is ready to use. It is remembered from pass
// to pass, and may be forgotten: then the time of each wait begins again.
type Waiting struct {
	since map[WaitKey]time.Time
}

// Since returns what the operator waits for, and since when. The simulation compares worlds by it.
func (w *Waiting) Since() map[WaitKey]time.Time { return maps.Clone(w.since) }

// Saw records the waits of a pass. A wait that was not among them is over.
func (w *Waiting) Saw(waits []WaitKey, now time.Time) {
	since := make(map[WaitKey]time.Time, len(waits))
	for _, key := range waits {
		since[key] = now
		if before, known := w.since[key]; known && before.Before(now) {
			since[key] = before
		}
	}
	w.since = since
}

// Waits are the waits that hold in a state: the one that a step of the pass is, and each one that the plan met on the way to that step. So
// a wait keeps its time if it is reported behind another one, or if a step was carried out past it. The time of the first wait begins when
// it is reported. A step of a rule before that of the wait does not end the wait, unless the step brings nearer what is waited for.
func Waits(s State, step Step) []WaitKey {
	wait, waits := step.(Wait)
	if !waits && len(s.Waiting.since) == 0 {
		return nil
	}
	met := choose(s).waits
	if waits {
		met = append(met, wait.key())
	}
	if Acts(step) {
		met = append(met, s.stillWaits(step)...)
	}
	return met
}

// stillWaits are the waits that began before a step was carried out, and that its rule hides.
func (s State) stillWaits(step Step) []WaitKey {
	hidden := first(Rules, s, func(_ string, other Step) bool { return Acts(other) }).waits
	return slices.DeleteFunc(hidden, func(key WaitKey) bool {
		_, began := s.Waiting.since[key]
		return !began || s.bringsNearer(step, key)
	})
}

// bringsNearer reports whether a step is progress of a wait: it is about the member that the wait is about, or about any member if the wait
// names none.
func (s State) bringsNearer(step Step, key WaitKey) bool {
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

// lasted returns since when the operator waits for something, and for how long. Both are 0 if it does not.
func (s State) lasted(key WaitKey) (since time.Time, d time.Duration) {
	since, waits := s.Waiting.since[key]
	if !waits {
		return time.Time{}, 0
	}
	return since, s.Now.Sub(since)
}

// Bounded returns the wait, stalled if the operator has waited for the same thing longer than the limit.
func (s State) Bounded(wait Wait) Wait {
	since, lasted := s.lasted(wait.key())
	if wait.Stalled || lasted < wait.limit() {
		return wait
	}
	advice := cmp.Or(wait.Advice, "Read the events and the logs of what the message names: kubectl etcd status "+s.Name+".")
	wait.Was, wait.Stalled, wait.Reason = wait.key(), true, cmp.Or(wait.Overdue, v1beta2.ReasonWaitTooLong)
	wait.Message = fmt.Sprintf("%s The operator has waited since %s, longer than %s. %s", wait.Message, since.UTC().Format(time.RFC3339), wait.limit(), advice)
	return wait
}

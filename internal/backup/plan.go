package backup

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Step is one effect, which describes itself. Steps are small structs, so that a test compares what Plan returns.
//
//sumtype:decl
type Step interface {
	// describe returns what users and the queue are told about the step in that State.
	describe(s State) planning.Description
}

// rules are asked in order, and the first one that returns a Step wins.
var rules = []planning.Group[State, Step]{
	{
		Name:    "delete",
		Purpose: "Every EtcdBackup can be deleted, and with deletionPolicy Delete its snapshots are deleted first.",
		Rules: []planning.Rule[State, Step]{
			{Name: "oldFinalizerIsSet", Decide: oldFinalizerIsSet},
			{Name: "backupIsBeingDeleted", Decide: backupIsBeingDeleted},
		},
	},
	{
		Name:    "copy",
		Purpose: "Copies to the second location run beside the attempts, and delay none of them.",
		Rules: []planning.Rule[State, Step]{
			{Name: "copyIsOutdated", Decide: copyIsOutdated},
			{Name: "copyHasEnded", Decide: copyHasEnded},
			{Name: "copyIsDue", Decide: copyIsDue},
		},
	},
	{
		Name:    "attempt",
		Purpose: "One attempt runs at a time, and its result is in the status before the next one starts.",
		Rules: []planning.Rule[State, Step]{
			{Name: "specChangedDuringAttempt", Decide: specChangedDuringAttempt},
			{Name: "attemptHasEnded", Decide: attemptHasEnded},
			{Name: "attemptIsRunning", Decide: attemptIsRunning},
		},
	},
	{
		Name:    "prepare",
		Purpose: "Nothing is written to the store before the spec is valid and the finalizer is set.",
		Rules: []planning.Rule[State, Step]{
			{Name: "specIsInvalid", Decide: specIsInvalid},
			{Name: "finalizerDiffersFromPolicy", Decide: finalizerDiffersFromPolicy},
		},
	},
	{
		Name:    "finish",
		Purpose: "A one-shot takes one snapshot. After that the snapshot is only tested, and deleted with its EtcdBackup.",
		Rules: []planning.Rule[State, Step]{
			{Name: "timeToLiveIsOver", Decide: timeToLiveIsOver},
			{Name: "restoreTestIsDue", Decide: restoreTestIsDue},
			{Name: "oneShotHasEnded", Decide: oneShotHasEnded},
		},
	},
	{
		Name:    "wait",
		Purpose: "A snapshot is taken only where it is allowed, and when it is due. Old ones are deleted even if none is taken.",
		Rules: []planning.Rule[State, Step]{
			{Name: "pathIsNotAllowed", Decide: pathIsNotAllowed},
			{Name: "suspendedSeriesIsPruned", Decide: suspendedSeriesIsPruned},
			{Name: "seriesIsSuspended", Decide: seriesIsSuspended},
			{Name: "snapshotIsNotDue", Decide: snapshotIsNotDue},
			{Name: "attemptFailedRecently", Decide: attemptFailedRecently},
		},
	},
	{
		Name:    "take",
		Purpose: "A snapshot that is due is taken as soon as its cluster is available and its Secrets exist.",
		Rules: []planning.Rule[State, Step]{
			{Name: "clusterIsNotAvailable", Decide: clusterIsNotAvailable},
			{Name: "secretIsMissing", Decide: secretIsMissing},
			{Name: "takeSnapshot", Decide: takeSnapshot},
		},
	},
}

// Plan returns the next Step, and the name of the rule that returned it. The same State gives the same Step.
func Plan(s State) (step Step, rule string) { return planning.First(rules, s, Step(Idle{})) }

const (
	// progressInterval is how often the status shows the progress of an attempt.
	progressInterval = 5 * time.Second
	// secretInterval is how often the operator looks for a missing Secret. It has no right to watch Secrets.
	secretInterval = 10 * time.Second
	// atOnce requeues without a pause.
	atOnce = time.Millisecond
	// longestSleep limits every requeue, because a timer does not follow a clock that is set.
	longestSleep = time.Hour
)

// sleep returns how long it is until the first of the times. It ignores zero times, and returns 0 if there is no other.
func sleep(now time.Time, times ...time.Time) time.Duration {
	wait := time.Duration(0)
	for _, at := range times {
		if left := min(max(at.Sub(now), atOnce), longestSleep); !at.IsZero() && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

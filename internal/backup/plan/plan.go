// Package plan decides what backup-operator does next for an EtcdBackup. It is pure: the same State gives the same Step.
package plan

import (
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// rules are asked in order, and the first one that returns a Step wins.
var rules = []planning.Group[state.State, Step]{
	{
		Name:    "delete",
		Purpose: "Every EtcdBackup can be deleted, and with deletionPolicy Delete its snapshots are deleted first.",
		Rules: []planning.Rule[state.State, Step]{
			{Name: "oldFinalizerIsSet", Decide: oldFinalizerIsSet},
			{Name: "backupIsBeingDeleted", Decide: backupIsBeingDeleted},
		},
	},
	{
		Name:    "copy",
		Purpose: "Copies to the second location run beside the attempts, and delay none of them.",
		Rules: []planning.Rule[state.State, Step]{
			{Name: "copyIsOutdated", Decide: copyIsOutdated},
			{Name: "copyHasEnded", Decide: copyHasEnded},
			{Name: "copyIsDue", Decide: copyIsDue},
		},
	},
	{
		Name:    "attempt",
		Purpose: "One attempt runs at a time, and its result is in the status before the next one starts.",
		Rules: []planning.Rule[state.State, Step]{
			{Name: "specChangedDuringAttempt", Decide: specChangedDuringAttempt},
			{Name: "attemptHasEnded", Decide: attemptHasEnded},
			{Name: "attemptIsRunning", Decide: attemptIsRunning},
		},
	},
	{
		Name:    "prepare",
		Purpose: "Nothing is written to the store before the spec is valid and the finalizer is set.",
		Rules: []planning.Rule[state.State, Step]{
			{Name: "specIsInvalid", Decide: specIsInvalid},
			{Name: "finalizerDiffersFromPolicy", Decide: finalizerDiffersFromPolicy},
		},
	},
	{
		Name:    "finish",
		Purpose: "A one-shot takes one snapshot. After that the snapshot is only tested, and deleted with its EtcdBackup.",
		Rules: []planning.Rule[state.State, Step]{
			{Name: "timeToLiveIsOver", Decide: timeToLiveIsOver},
			{Name: "restoreTestIsDue", Decide: restoreTestIsDue},
			{Name: "oneShotHasEnded", Decide: oneShotHasEnded},
		},
	},
	{
		Name:    "wait",
		Purpose: "A snapshot is taken only where it is allowed, and when it is due. Old ones are deleted even if none is taken.",
		Rules: []planning.Rule[state.State, Step]{
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
		Rules: []planning.Rule[state.State, Step]{
			{Name: "clusterIsNotAvailable", Decide: clusterIsNotAvailable},
			{Name: "secretIsMissing", Decide: secretIsMissing},
			{Name: "takeSnapshot", Decide: takeSnapshot},
		},
	},
}

// Describe returns what users and the queue are told about a step in that State.
func Describe(step Step, s state.State) planning.Description { return step.describe(s) }

// Plan returns the next Step, and the name of the rule that returned it. The same State gives the same Step.
func Plan(s state.State) (step Step, rule string) { return planning.First(rules, s, Step(Idle{})) }

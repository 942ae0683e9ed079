package plan

import (
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
)

// rules are asked in order, and the first one that returns a Step wins. cluster-operator changes a cluster only after
// an Accept. So every check of the snapshot is in the group "prove", or before it.
var rules = []planning.Group[state.State, steps.Step]{
	{
		Name:    "finish",
		Purpose: "A restore happens once, and is deleted when its time to live is over.",
		Rules: []planning.Rule[state.State, steps.Step]{
			{Name: "restoreIsBeingDeleted", Decide: restoreIsBeingDeleted},
			{Name: "restoreHasFinished", Decide: restoreHasFinished},
		},
	},
	{
		Name:    "repeat",
		Purpose: "A restore that was carried out is not repeated by accident.",
		Rules: []planning.Rule[state.State, steps.Step]{
			{Name: "anotherOperatorFinished", Decide: anotherOperatorFinished},
			{Name: "clusterRefuses", Decide: clusterRefuses},
		},
	},
	{
		Name:    "prove",
		Purpose: "No cluster is changed before its snapshot has been read completely and verified.",
		Rules: []planning.Rule[state.State, steps.Step]{
			{Name: "prefixesNeedARunningCluster", Decide: prefixesNeedARunningCluster},
			{Name: "volumeIsNotReady", Decide: volumeIsNotReady},
			{Name: "snapshotIsNotVerified", Decide: snapshotIsNotVerified},
		},
	},
	{
		Name:    "follow",
		Purpose: "The seed can read the snapshot, and the old data is saved before the switch. While the cluster is restored, the status shows its progress.",
		Rules: []planning.Rule[state.State, steps.Step]{
			{Name: "signedURLExpires", Decide: signedURLExpires},
			{Name: "oldDataIsNotSaved", Decide: oldDataIsNotSaved},
			{Name: "keysAreNotRestored", Decide: keysAreNotRestored},
			{Name: "clusterReportsThisRestore", Decide: clusterReportsThisRestore},
		},
	},
	{
		Name:    "wait",
		Purpose: "A verified restore waits until its cluster exists, fits the snapshot, and starts the restore.",
		Rules: []planning.Rule[state.State, steps.Step]{
			{Name: "clusterIsMissing", Decide: clusterIsMissing},
			{Name: "snapshotIsTooNew", Decide: snapshotIsTooNew},
			{Name: "volumesAreTooSmall", Decide: volumesAreTooSmall},
			{Name: "anotherRestoreIsFirst", Decide: anotherRestoreIsFirst},
			{Name: "clusterHasNotStarted", Decide: clusterHasNotStarted},
		},
	},
}

// Plan returns the next Step, and the name of the rule that returned it. The same State gives the same Step.
func Plan(s state.State) (step steps.Step, rule string) {
	return planning.First(rules, s, steps.Step(steps.Done{}))
}

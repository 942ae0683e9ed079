package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/planning/planningtest"
)

// A wait that is forgotten here lasts without an end, and no alert or GitOps tool notices that a person must act.
func TestEachWaitOfABackupIsStalledAfterAWhile(t *testing.T) {
	planningtest.SayWhatEnds(t, ".", map[string]string{
		"backupIsBeingDeleted":  "the time for deletions",
		"lastCopy":              "the time for the final snapshot",
		"clusterIsNotAvailable": "only for a cluster that hibernates, as its spec asks",
	})
}

package attempt

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// The tests of this package use attempttest, which imports it.
var (
	DeleteClocks   = deleteClocks
	MeasureAhead   = measureAhead
	Prune          = prune
	PurgeSnapshots = purgeSnapshots
	PurgeTimeline  = purgeTimeline
	Sweep          = sweep
)

func (t *Job) OfHistory(o state.JobSpec, from ask.Answer, source save.Source) save.Source {
	return t.ofHistory(o, from, source)
}

// PruneInPartsOf has the names of one part changed for a test.
func PruneInPartsOf(t *testing.T, names int) {
	before := prunePart
	prunePart = names
	t.Cleanup(func() { prunePart = before })
}

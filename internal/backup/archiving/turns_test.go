package archiving

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// One namespace could take all places. They are kept for months, so the archives of other namespaces ended at the next restart.
func TestANamespaceWithManyArchivesLeavesPlacesToOthers(t *testing.T) {
	job := runnerIn(spool.New(t.TempDir(), spool.Options{Limit: 20 << 30}))
	taken := map[string]int{}
	for _, namespace := range []string{"a", "b", "c", "d"} {
		for {
			if _, err := job.reserve(t.Context(), namespace); errors.Is(err, spool.ErrTooSmall) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			taken[namespace]++
		}
	}
	if taken["a"] != 105 || taken["b"] < 10 || taken["c"] < 1 {
		t.Errorf("of 120 places, the namespaces have %v", taken)
	}
}

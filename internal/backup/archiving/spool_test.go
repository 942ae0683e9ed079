package archiving

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// runnerIn returns a runner whose archivers have their places in a spool.
func runnerIn(s *spool.Spool) *runner { return &runner{spool: s, places: limits.NewPlaces(s, 0)} }

func TestArchiversUseAQuarterOfTheSpoolAndReturnIt(t *testing.T) {
	const limit = 8 * limits.Spool * 16 / 15 // a sixteenth is given to no job
	job := runnerIn(spool.New(t.TempDir(), spool.Options{Limit: limit}))
	first, err := job.reserve(t.Context(), "ns")
	if err != nil {
		t.Fatal(err)
	}
	second, err := job.reserve(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.reserve(t.Context(), "third"); !errors.Is(err, spool.ErrTooSmall) {
		t.Errorf("a third of eight archivers fits: %v", err)
	}
	first()
	second()
	if left := job.spool.Largest(); left != limit-limit/16 {
		t.Errorf("%d bytes are left of the spool, want %d", left, limit-limit/16)
	}
	if _, err := job.reserve(t.Context(), "ns"); err != nil {
		t.Errorf("after the others have ended: %v", err)
	}
}

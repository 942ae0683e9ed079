package archiving

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/spool"
)

func TestArchiversUseAQuarterOfTheSpoolAndReturnIt(t *testing.T) {
	const limit = 8 * archiveSpool * 16 / 15 // a sixteenth is given to no job
	job := &runner{spool: spool.New(t.TempDir(), spool.Options{Limit: limit})}
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

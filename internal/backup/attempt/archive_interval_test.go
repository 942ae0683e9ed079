package attempt_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
)

// Retention deleted snapshots beside a known failure.
func TestASecondFailureOfTheSameRevisionsIsRecorded(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	b := w.Attempt(s).Snapshot // exists
	o := state.JobSpecOf(s)
	name := archive.ProofName{Timeline: 1, From: 10, To: 20, Failed: true}
	// The snapshot of the first failure was deleted, as the message advises. Another one has the same revision.
	for _, from := range []string{"deleted.db", strings.TrimPrefix(b.Path, o.Target.Bucket+"/")} {
		if err := proofs.Write(t.Context(), w.Store, o.ArchiveRoot(), archive.Proof{ProofName: name, FromKey: from, Message: "damaged"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	o.Archived, o.Distrusted = true, nil
	why, err := verify.ArchiveHolds(t.Context(), o, w.Store)
	if err != nil || why == "" {
		t.Errorf("deletions go on: %q, %v", why, err)
	}
}

package state_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A key of 1,010 to 1,019 bytes was accepted, but left no room for the name of a test result. A failed restore test was not recorded, so a user restored
// a snapshot that the operator had found to be bad.
func TestAKeyThatIsAcceptedHasRoomForTheResultOfARestoreTest(t *testing.T) {
	accepted := 0
	for n := 990; n <= objstore.MaxName; n++ {
		target, problem := state.TargetOf("ns", "b", s3At("b/"+strings.Repeat("k", n)))
		if problem != nil {
			continue
		}
		accepted = n
		store := objstoretest.NewMemory()
		if err := snapshot.WriteVerdict(t.Context(), store, target.Key, snapshot.Verdict{Result: snapshot.Failed}); err != nil {
			t.Fatal(err)
		}
		if failed, err := snapshot.ReadVerdict(t.Context(), store, target.Key, snapshot.Failed); err != nil || failed.Result != snapshot.Failed {
			t.Errorf("a key of %d bytes is accepted, and the result of its failed restore test is not recorded: %v", n, err)
		}
	}
	if accepted != 1009 {
		t.Errorf("the longest key that is accepted has %d bytes, want 1009", accepted)
	}
}

// The names in an archive are longer than those of the snapshots beside it. With a long folder, the store refused the segments or the proofs, and the
// user read that only after the archive had begun, as an error of the store.
func TestAFolderThatIsAcceptedHasRoomForTheNamesOfItsArchive(t *testing.T) {
	accepted := 0
	for n := 850; n <= objstore.MaxName; n++ {
		spec := s3At("b/" + strings.Repeat("k", n))
		spec.BackupPolicy, spec.Continuous = hourly, &v1beta2.ContinuousArchive{}
		target, problem := state.TargetOf("ns", "b", spec)
		if problem != nil {
			continue
		}
		accepted = n
		proof := archive.ProofName{Timeline: 1, Failed: true}.Key(archive.Root(target.Key, "ns", "b"))
		if len(proof) > objstore.MaxName {
			t.Errorf("a folder of %d bytes is accepted, and a proof has a name of %d", n, len(proof))
		}
	}
	if accepted < 900 {
		t.Errorf("the longest folder that is accepted has %d bytes", accepted)
	}
}

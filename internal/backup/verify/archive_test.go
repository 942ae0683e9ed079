package verify_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// After a gap or a restore, or without an identity, the next proof would start at another snapshot and pass. Retention would then
// delete the rest.
func TestAFailedProofIsNotForgottenWhileItsSnapshotExists(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	first := w.Attempt(s).Snapshot
	o := state.JobSpecOf(s)
	o.Newest = *first
	o.Newest.ClusterID, o.Newest.Path = "00000000000000ff", "later.db"
	o.Distrusted = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: first.Path, Message: "Revision 12 is damaged."}
	proof, err := w.ProveArchive(t.Context(), o, w.Store, dbfile.KVHash{Revision: 99}, &queue.Progress{})
	if err != nil || proof.Result != v1beta2.ProofFailed || proof.To != "later.db" || proof.From != first.Path {
		t.Errorf("proof %+v, error %v, want the failed one", proof, err)
	}
	o.Distrusted.From = o.Target.Bucket + "/deleted.db"
	if proof, err = w.ProveArchive(t.Context(), o, w.Store, dbfile.KVHash{Revision: 99}, &queue.Progress{}); err != nil || proof.Result != v1beta2.ProofSkipped {
		t.Errorf("proof %+v, error %v, want none after the snapshot was deleted", proof, err)
	}
	o.Prove, o.Encoder.Recipients = true, []string{"age1"}
	o.Distrusted.From = first.Path
	if skipped, err := w.WithoutIdentity(t.Context(), o); skipped != nil || err != nil {
		t.Errorf("%+v %v: a failure is replaced by Skipped", skipped, err)
	}
}

// The next proof begins with the snapshot of the failed one, although no status says so.
func TestAProofThatFailedIsRepeatedFromTheStore(t *testing.T) {
	w := attempttest.NewWorld(t)
	s := statetest.Series(func(s *state.State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	first := w.Attempt(s).Snapshot
	o := state.JobSpecOf(s)
	o.Newest = *first
	o.Newest.ClusterID, o.Newest.Path = "00000000000000ff", "later.db"
	failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 1, To: 2, Failed: true}, FromKey: strings.TrimPrefix(first.Path, o.Target.Bucket+"/"), Message: "Revision 2 is damaged."}
	if err := proofs.Write(t.Context(), w.Store, o.ArchiveRoot(), failed, nil); err != nil {
		t.Fatal(err)
	}
	proof, err := w.ProveArchive(t.Context(), o, w.Store, dbfile.KVHash{Revision: 99}, &queue.Progress{})
	if err != nil || proof.Result != v1beta2.ProofFailed || proof.From != first.Path || proof.Message != string(failed.Message) {
		t.Errorf("proof %+v, error %v, want the failed one of the store", proof, err)
	}
	if err := w.Store.Delete(t.Context(), failed.FromKey); err != nil {
		t.Fatal(err)
	}
	if proof, err = w.ProveArchive(t.Context(), o, w.Store, dbfile.KVHash{Revision: 99}, &queue.Progress{}); err != nil || proof.Result != v1beta2.ProofSkipped {
		t.Errorf("proof %+v, error %v, want none after the snapshot was deleted", proof, err)
	}
}

// A proof failed in the folder that the spec named before, in the same bucket. The user has named another folder since then, so that the operator
// begins a new archive, and has kept the old snapshots. If that proof counted, the new folder would grow without a limit, Ready would stay false,
// and the new archive would never be proven.
func TestAFailedProofOfAFormerFolderHoldsNothingInTheNewOne(t *testing.T) {
	w := attempttest.NewWorld(t)
	w.Store = attempttest.StoredThen{Store: w.Store}
	s := statetest.Series(func(s *state.State) {
		s.Spec.BackupPolicy.MaxBackups = 1
		s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
	})
	former := "former/ns/b/0000000000000abc/p.db"
	if err := w.Store.Put(t.Context(), former, objstore.NewMetadata([]byte("kept"))); err != nil {
		t.Fatal(err)
	}
	present := time.Now()
	s.Status.LastArchiveProof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: s.Target.Bucket + "/" + former, To: s.Target.Bucket + "/former/ns/b/0000000000000abc/q.db",
		Revision: 9, Time: metav1.Time{Time: present.Add(-48 * time.Hour)}, Message: "Revision 2 is damaged."}
	s.Status.SnapshotStore = s.Target.Store()
	s = attempttest.HoldsNothing(t, w, s, present)
	if _, _, _, err := verify.ChooseInterval(t.Context(), state.JobSpecOf(s), w.Store, 100); errors.Is(err, verify.ErrStillFailed) {
		t.Errorf("the archive in the new folder is never proven: %v", err)
	}
}

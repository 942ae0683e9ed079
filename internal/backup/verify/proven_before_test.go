package verify_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// The operator was killed after it had stored a passed proof, and before the status had it. The next operator repeated the restore test and reported
// Skipped, so the status of a proven archive said that there was nothing to prove.
func TestAStoredProofUpToTheNewestSnapshotIsReportedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		toKey func(newest string) string
		want  v1beta2.ProofResult
	}{
		"up to the newest snapshot":                       {func(newest string) string { return newest }, v1beta2.ProofPassed},
		"up to another snapshot of the same revision":     {func(newest string) string { return newest + "-other" }, v1beta2.ProofSkipped},
		"that names no snapshot because it is an old one": {func(string) string { return "" }, v1beta2.ProofSkipped},
	} {
		w := attempttest.NewKept(t, snapshot.Passed)
		o, revision := proofOf(t, w)
		stored := archive.Proof{
			ProofName: archive.ProofName{Timeline: 1, From: 2, To: revision}, FromKey: w.O.SeriesOf(1).EncodedKey(w.At.Add(-1), 2, w.O.Encoder.Encoding()),
			ToKey: test.toKey(strings.TrimPrefix(o.Newest.Path, o.Target.Bucket+"/")), Message: "All keys and values are those of the snapshot.",
		}
		if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), stored, nil); err != nil {
			t.Fatal(err)
		}
		proof, err := attempttest.NewWorld(t).ProveArchive(t.Context(), o, w, dbfile.KVHash{Revision: revision}, &queue.Progress{})
		if err != nil || proof.Result != test.want || proof.To != o.Newest.Path || test.want == v1beta2.ProofPassed && proof.Message != string(stored.Message) {
			t.Errorf("%s: proof %+v, error %v, want %s", name, proof, err, test.want)
		}
	}
}

package copying

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
)

// A proof of the objects in the second location has failed when that was the first one. The same interval has passed in the present first location, which has
// other bytes. The copy of that result deleted the failure, and then retention deleted what the failure held.
func TestAPassedProofOfTheFirstLocationEndsNoFailureInTheSecondOne(t *testing.T) {
	b := newCopyBench(t)
	var snapshots []string
	for _, key := range b.Keys() {
		if strings.HasSuffix(key, ".db") {
			snapshots = append(snapshots, key)
		}
	}
	there := b.O.CopiedArchive().ArchiveRoot()
	failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 12, To: 32, Failed: true}, FromKey: b.keyThere(snapshots[1]), ToKey: b.keyThere(snapshots[3])}
	passed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 12, To: 32}, FromKey: snapshots[1], ToKey: snapshots[3]}
	if err := proofs.Write(t.Context(), b.second, there, failed, nil); err != nil {
		t.Fatal(err)
	}
	if err := proofs.Write(t.Context(), b, b.O.ArchiveRoot(), passed, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b.steps(b.copying())
	}
	names, err := proofs.List(t.Context(), b.second, there)
	if err != nil || !slices.Equal(names, []archive.ProofName{failed.ProofName}) {
		t.Errorf("the second location has the proofs %+v, error %v", names, err)
	}
	if got, want := b.there(), b.here(); !slices.Equal(got, want) {
		t.Errorf("the second location has %q, want all: %q", got, want)
	}
}

package proofs

import (
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// ofExample is the root of an archive.
const ofExample = "continuous-archive/ns/name/"

var dayOfProofs = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// A proof is beside the archive, so that neither a new EtcdBackup nor a switch of its spec forgets that one has failed.
func TestProofsAreFoundByTheirNames(t *testing.T) {
	store := objstoretest.NewMemory()
	write := func(p archive.ProofName, others ...archive.ProofName) {
		t.Helper()
		if err := Write(t.Context(), store, ofExample, archive.Proof{ProofName: p, FromKey: "from.db"}, others); err != nil {
			t.Fatal(err)
		}
	}
	failed := archive.ProofName{Timeline: 1, From: 30, To: 40, Failed: true}
	write(archive.ProofName{Timeline: 1, From: 10, To: 20})
	write(archive.ProofName{Timeline: 1, From: 20, To: 30})
	write(archive.ProofName{Timeline: 2, From: 30, To: 50})
	write(failed)
	write(failed) // again
	proofs, err := List(t.Context(), store, ofExample)
	if err != nil || len(proofs) != 4 {
		t.Fatalf("proofs %v, error %v", proofs, err)
	}
	if all, _, err := archive.List(t.Context(), store, ofExample); err != nil || len(all) != 0 {
		t.Errorf("timelines %v, error %v: a proof counts as a part of the archive", all, err)
	}
	for from, want := range map[int64]int64{10: 30, 15: 30, 30: 30, 5: 5} {
		if got := Proven(proofs, 1, from); got != want {
			t.Errorf("from revision %d all is proven up to %d, want %d", from, got, want)
		}
	}
	if p, err := Read(t.Context(), store, ofExample, failed); err != nil || p.FromKey != "from.db" || !p.Failed {
		t.Errorf("proof %+v, error %v", p, err)
	}
	write(archive.ProofName{Timeline: 1, From: 30, To: 60}, proofs...)
	if proofs, err = List(t.Context(), store, ofExample); err != nil || len(proofs) != 4 || Proven(proofs, 1, 10) != 60 {
		t.Errorf("proofs %v, error %v, want none that has failed after one from the same snapshot has passed", proofs, err)
	}
	links := []archive.Names{{Timeline: 1, Links: []archive.Name{archive.NameOf(1, dayOfProofs, 25)}}}
	if got := archive.OutdatedProofs(ofExample, links, append(proofs, failed)); len(got) != 2 {
		t.Errorf("outdated are %v, want that before the first segment and that of the other timeline", got)
	}
}

// A listing may omit a failed proof. The second record counts only while that proof exists, and a later failure replaces an outdated one. Otherwise a
// damaged archive is deleted, or an archive without damage is kept and paid for without end.
func TestAFailedProofIsFoundWithoutTheListing(t *testing.T) {
	store := objstoretest.NewMemory()
	write := func(p archive.ProofName, others ...archive.ProofName) {
		t.Helper()
		if err := Write(t.Context(), store, ofExample, archive.Proof{ProofName: p, FromKey: "from.db"}, others); err != nil {
			t.Fatal(err)
		}
	}
	omitted := func(n archive.ProofName) bool {
		t.Helper()
		store.Set(n.Key(ofExample), objstoretest.Omitted)
		defer store.Set(n.Key(ofExample), 0)
		proofs, err := List(t.Context(), store, ofExample)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(proofs, n)
	}
	if err := store.Put(t.Context(), "from.db", objstore.NewMetadata([]byte("data"))); err != nil {
		t.Fatal(err)
	}
	first, second := archive.ProofName{Timeline: 1, From: 30, To: 40, Failed: true}, archive.ProofName{Timeline: 1, From: 50, To: 60, Failed: true}
	if write(first); !omitted(first) {
		t.Error("a failed proof that the listing omits is not found")
	}
	write(archive.ProofName{Timeline: 1, From: 30, To: 60}, first)
	if omitted(first) {
		t.Error("a failed proof that was replaced by one that passed still counts")
	}
	if write(second); !omitted(second) {
		t.Error("the record of the deleted proof hides a later failure")
	}
	if err := DropFailed(t.Context(), store, ofExample, 2); err != nil || !store.Has(failedKey(ofExample)) {
		t.Errorf("the record was deleted with another timeline, error %v", err)
	}
	if err := DropFailed(t.Context(), store, ofExample, 1); err != nil || store.Has(failedKey(ofExample)) {
		t.Errorf("the record is left after its timeline was deleted, error %v", err)
	}
}

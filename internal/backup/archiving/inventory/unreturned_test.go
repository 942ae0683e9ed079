package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// The store lists a segment in the middle of a range and does not return it. A survey reads too few headers to find that, but a proof of the archive had
// found it. But the status still listed the revisions that need the segment.
func TestNoRangeHasASegmentThatAProofCouldNotRead(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	ranges := func() (ranges []archive.Range, says string) {
		f, err := Of(t.Context(), w, w.O, catalog.Known{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Survey.Drop()
		return f.Survey.Ranges, Unrestorable(f.Survey)
	}
	whole, _ := ranges()
	lost := segmentsOf(w)[3]
	w.Set(lost, objstoretest.Lost)
	proof := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 32, To: 42}, Unreturned: []string{lost, "another/" + lost, segmentsOf(w)[1]}}
	if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), proof, nil); err != nil {
		t.Fatal(err)
	}
	got, says := ranges()
	h := headerOf(t, w, lost)
	for _, r := range got {
		if r.From.Revision < h.First && r.To.Revision >= h.First {
			t.Errorf("the revisions %d to %d need the segment %s, which the store does not return", r.From.Revision, r.To.Revision, lost)
		}
	}
	if len(got) != len(whole)+1 || !strings.Contains(says, lost) {
		t.Errorf("ranges %+v, before %+v; the condition says %q", got, whole, says)
	}
	w.Set(lost, 0)
	if got, says := ranges(); !slices.Equal(rangesOf(got), rangesOf(whole)) || says != "" {
		t.Errorf("the store returns the segment again, and the ranges are %+v: %q", got, says)
	}
}

// Each proof asks for what earlier ones could not read, so that a later one does not forget it.
func TestAProofRecordsTheSegmentsThatTheStoreStillDoesNotReturn(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	all := segmentsOf(w)
	w.Set(all[1], objstoretest.Lost)
	w.Set(all[3], objstoretest.Cold)
	before := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 22, To: 32}, Unreturned: []string{all[1], all[2], "no/segment"}}
	if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), before, nil); err != nil {
		t.Fatal(err)
	}
	got := proofs.StillUnread(t.Context(), w, w.O.ArchiveRoot(), []archive.ProofName{before.ProofName}, all[3])
	if want := []string{all[1], all[3]}; !slices.Equal(got, want) {
		t.Errorf("recorded are %q, want %q", got, want)
	}
}

func segmentsOf(w *kept) (keys []string) {
	for _, key := range w.Keys() {
		if strings.HasPrefix(key, w.O.ArchiveRoot()) && strings.HasSuffix(key, ".segment") {
			keys = append(keys, key)
		}
	}
	return keys
}

func headerOf(t *testing.T, w *kept, key string) archive.Header {
	t.Helper()
	h, err := archive.ReadHeader(t.Context(), w.Store, w.O.ArchiveRoot(), key)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func rangesOf(ranges []archive.Range) (texts []string) {
	for _, r := range ranges {
		texts = append(texts, fmt.Sprintf("%d-%d", r.From.Revision, r.To.Revision))
	}
	return texts
}

package inventory

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// kept is a store with an archive, and asks it what a keeper does.
type kept struct{ *attempttest.Kept }

func newKept(t *testing.T, newest snapshot.Result) *kept {
	return &kept{attempttest.NewKept(t, newest)}
}

// deletes returns the parts of the archive that a keeper deletes.
func (w *kept) deletes() (keys []string) {
	known := catalog.Known{}
	f, err := Of(w.T.Context(), w, w.O, known)
	if err != nil {
		return nil // it deletes nothing
	}
	defer f.Survey.Drop()
	if f.Last != nil && f.Last.Result == v1beta2.ProofFailed {
		return nil
	}
	names, _, err := OutdatedBy(w.T.Context(), w, w.O, f.Survey, f.Index, known)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, name := range names {
		keys = append(keys, name.Key(w.O.ArchiveRoot()))
	}
	return keys
}

// A listing omits one object, whichever it is. No part of the archive is deleted that a whole listing keeps. An omitted result of a restore test
// deleted what a restore from the last good snapshot needs, and an omitted failed proof deleted the rest of a damaged archive.
func TestNoOmittedObjectDeletesMoreOfAnArchive(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *state.JobSpec)
		newest snapshot.Result
		proof  bool // has failed
		want   int  // deletions with a whole listing
	}{
		"no tests":                 {func(*state.JobSpec) {}, snapshot.Passed, false, 2},
		"verify":                   {func(o *state.JobSpec) { o.Keep.Verify = true }, snapshot.Passed, false, 2},
		"restore tests":            {func(o *state.JobSpec) { o.Keep.Tests = true }, snapshot.Passed, false, 2},
		"the newest test failed":   {func(o *state.JobSpec) { o.Keep.Tests = true }, snapshot.Failed, false, 0},
		"a proof failed":           {func(*state.JobSpec) {}, snapshot.Passed, true, 0},
		"a proof failed, verified": {func(o *state.JobSpec) { o.Keep.Verify = true }, snapshot.Passed, true, 0},
	} {
		w := newKept(t, test.newest)
		test.change(&w.O)
		if test.proof {
			from := w.O.SeriesOf(1).EncodedKey(statetest.T0, 2, w.O.Encoder.Encoding())
			failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12, Failed: true}, FromKey: from, Message: "Revision 7 is damaged."}
			if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), failed, nil); err != nil {
				t.Fatal(err)
			}
		}
		allowed := w.deletes()
		if len(allowed) != test.want {
			t.Errorf("%s: a whole listing deletes %q, want %d", name, allowed, test.want)
		}
		for _, object := range w.Keys() {
			w.Set(object, objstoretest.Omitted)
			for _, key := range w.deletes() {
				if !slices.Contains(allowed, key) {
					t.Errorf("%s: a listing omits %s, and %s is deleted", name, object, key)
				}
			}
			why, err := verify.ArchiveHolds(t.Context(), w.O, w)
			if err != nil || (why != "") != test.proof {
				t.Errorf("%s: a listing omits %s, and snapshots are kept because of %q, error %v", name, object, why, err)
			}
			w.Set(object, 0)
		}
	}
}

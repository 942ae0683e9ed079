package inventory

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/backup/status"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// A proof failed, and a person deleted its snapshot with its manifest, as the message says. The record of the failure is left. Then another proof
// failed, a listing omitted its record, and the status was lost. The operator deleted what only that damaged part of the archive has.
func TestAnOmittedFailedProofHoldsAlthoughAnOlderOneIsListed(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	root := w.O.ArchiveRoot()
	write := func(p archive.Proof) archive.Proof {
		if err := proofs.Write(t.Context(), w, root, p, nil); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write(archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 1, To: 2, Failed: true}, FromKey: w.O.SeriesOf(1).EncodedKey(statetest.T0.Add(-3600e9), 1, w.O.Encoder.Encoding()), Message: "Revision 2 is damaged."})
	second := write(archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: 12, Failed: true}, FromKey: w.O.SeriesOf(1).EncodedKey(statetest.T0, 2, w.O.Encoder.Encoding()), Message: "Revision 7 is damaged."})
	for name, fault := range map[string]objstoretest.Fault{"a whole listing": 0, "a listing that omits the newer record": objstoretest.Omitted, "a cold record": objstoretest.Cold, "a lost record": objstoretest.Lost} {
		w.Set(second.Key(root), fault)
		if why, err := verify.ArchiveHolds(t.Context(), w.O, w); why == "" || err != nil {
			t.Errorf("%s: snapshots may be deleted: %q, %v", name, why, err)
		}
		if keys := w.deletes(); len(keys) > 0 {
			t.Errorf("%s: %q are deleted", name, keys)
		}
	}
}

// The store did not return one object any more. No survey ended, so nothing of the archive was proven or deleted, and the status stood still.
func TestOneObjectThatTheStoreDoesNotReturnEndsNoSurveyOfAnArchive(t *testing.T) {
	for _, proof := range []bool{false, true} {
		w := newKept(t, snapshot.Passed)
		if proof {
			failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 1, To: 2, Failed: true}, FromKey: "gone.db", Message: "Revision 2 is damaged."}
			if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), failed, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, fault := range []objstoretest.Fault{objstoretest.Cold, objstoretest.Lost} {
			for _, key := range w.Keys() {
				if fault == objstoretest.Lost && strings.HasSuffix(key, "last.proof-failed") {
					continue // nothing else shows whether a proof has failed
				}
				w.Set(key, fault)
				known := catalog.Known{}
				f, err := Of(t.Context(), w, w.O, known)
				if err != nil {
					t.Errorf("fault %d of %s: the survey fails: %v", fault, key, err)
				} else {
					if _, _, err := OutdatedBy(t.Context(), w, w.O, f.Survey, f.Index, known); err != nil {
						t.Errorf("fault %d of %s: outdated: %v", fault, key, err)
					}
					f.Survey.Drop()
				}
				if _, err := verify.ArchiveHolds(t.Context(), w.O, w); err != nil {
					t.Errorf("fault %d of %s: retention: %v", fault, key, err)
				}
				w.Set(key, 0)
			}
		}
	}
}

// The start of one timeline was cold, and the status did not say that its changes cannot be restored.
func TestTheStatusNamesAStartThatTheStoreDoesNotReturn(t *testing.T) {
	w := newKept(t, snapshot.Passed)
	key := archive.StartKey(w.O.ArchiveRoot(), 1)
	w.Set(key, objstoretest.Cold)
	f, err := Of(t.Context(), w, w.O, catalog.Known{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Survey.Drop()
	s := statetest.ArchivingState(t)
	s.Archive.Holes = Unrestorable(f.Survey)
	s.Status = status.NewStatus(s, plan.Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := state.ConditionOf(s.Status.Conditions, v1beta2.ConditionArchiving)
	if c == nil || c.Status == metav1.ConditionTrue || !strings.Contains(c.Message, key) || !strings.Contains(c.Message, "move them back") {
		t.Errorf("Archiving is %+v", c)
	}
}

package verify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// proofOf returns the job spec of a proof up to the newest snapshot, and the revision of that.
func proofOf(t *testing.T, w *attempttest.Kept) (state.JobSpec, int64) {
	t.Helper()
	survey, index, known := surveyed(t, w)
	defer survey.Drop()
	newest := index.Items[0]
	o := w.O
	o.Newest = o.Shown(newest.Key, known[newest.Key].Manifest, snapshot.Anyone)
	o.Ranges = append(o.Ranges, survey.Ranges...)
	return o, known[newest.Key].Manifest.Revision
}

func segmentsOf(w *attempttest.Kept) (keys []string) {
	for _, key := range w.Keys() {
		if strings.HasPrefix(key, w.O.ArchiveRoot()) && strings.HasSuffix(key, ".segment") {
			keys = append(keys, key)
		}
	}
	return keys
}

// The header of a segment, or the start of the timeline, is damaged. The proof failed, and only the status had that. After a user had switched
// continuous off for some seconds, or recreated the EtcdBackup, the operator deleted the snapshots and segments from which the data could be saved.
func TestAProofThatFailsAtADamagedHeaderIsRecordedInTheStore(t *testing.T) {
	for name, choose := range map[string]func(*attempttest.Kept) string{
		"in the middle":             func(w *attempttest.Kept) string { return segmentsOf(w)[3] },
		"the first segment":         func(w *attempttest.Kept) string { return segmentsOf(w)[0] },
		"the start of the timeline": func(w *attempttest.Kept) string { return archive.StartKey(w.O.ArchiveRoot(), 1) },
	} {
		w := attempttest.NewKept(t, snapshot.Passed)
		o, revision := proofOf(t, w)
		damaged := choose(w)
		if err := w.Delete(t.Context(), damaged); err != nil {
			t.Fatal(err)
		}
		attempttest.Place(t, w.Memory, damaged, "{\"formatVersion\":1} 00000000\n")
		proof, err := attempttest.NewWorld(t).ProveArchive(t.Context(), o, w, dbfile.KVHash{Revision: revision}, &queue.Progress{})
		if err != nil || proof.Result != v1beta2.ProofFailed || proof.From == "" {
			t.Errorf("%s: proof %+v, error %v, want one that failed and names its snapshot", name, proof, err)
			continue
		}
		w.O.Distrusted = nil // the status was lost
		if why, err := verify.ArchiveHolds(t.Context(), w.O, w); err != nil || why == "" {
			t.Errorf("%s: the proof has failed (%s), and snapshots are deleted: %q, %v", name, proof.Message, why, err)
		}
	}
}

// A proof failed, and a user copied the damaged segment back from a replica two days later, as the advice says. The proof was repeated up to the newest
// snapshot only, which needs more segments than a replay may have. So it never passed, and nothing was ever deleted.
func TestAFailedProofIsRepeatedUpToItsEndHoweverLateTheRepairIs(t *testing.T) {
	for name, test := range map[string]struct {
		failed []int64
		want   int64
		gone   bool
	}{
		"one proof failed":                        {[]int64{12}, 12, false},
		"a longer one from the same snapshot too": {[]int64{12, 32}, 32, false},
		"the later snapshot failed its own test":  {[]int64{22}, 32, false},
		"the later snapshot was deleted":          {[]int64{12}, 32, true},
	} {
		w := attempttest.NewKept(t, "")
		from := w.O.SeriesOf(1).EncodedKey(w.At.Add(-4*time.Hour), 2, w.O.Encoder.Encoding())
		var allProofs []archive.ProofName
		for _, to := range test.failed {
			n := archive.ProofName{Timeline: 1, From: 2, To: to, Failed: true}
			allProofs = append(allProofs, n)
			if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), archive.Proof{ProofName: n, FromKey: from, Message: "Revision 7 is damaged."}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if test.gone {
			for _, key := range w.Keys() {
				if k, ok := snapshot.ParseKey(key); ok && k.Revision == 12 {
					if err := w.Delete(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		far := int64(48) + archive.MaxLinks
		for first := int64(48); first <= far; first++ { // nothing reads them
			attempttest.Place(t, w.Memory, archive.LinkKey(w.O.ArchiveRoot(), 1, w.At, first), "")
		}
		w.At = w.At.Add(48 * time.Hour)
		newest := w.Take(far-1, snapshot.Passed) // no search reads the last segment
		o := w.O
		o.Newest = v1beta2.Snapshot{Path: o.Target.Bucket + "/" + newest, ClusterID: "0000000000000001", Revision: far - 1}
		key, path, found, err := verify.ChooseInterval(t.Context(), o, w, far-1)
		to, _ := snapshot.ParseKey(strings.TrimPrefix(path, o.Target.Bucket+"/"))
		if err != nil || !found || key != from || to.Revision != test.want {
			t.Errorf("%s: the repaired archive is not proven again up to revision %d: found %t, from %q to revision %d, error %v", name, test.want, found, key, to.Revision, err)
			continue
		}
		// It passes, and no failed proof is left.
		passed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 2, To: to.Revision}, FromKey: from, ToKey: path}
		if err := proofs.Write(t.Context(), w, w.O.ArchiveRoot(), passed, allProofs); err != nil {
			t.Fatal(err)
		}
		if why, err := verify.ArchiveHolds(t.Context(), w.O, w); err != nil || why != "" {
			t.Errorf("%s: the proof has passed, and deletions are held: %s %v", name, why, err)
		}
	}
}

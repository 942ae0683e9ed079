package backup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A failed proof was known to the status alone. A recreated EtcdBackup, or one whose continuous was switched off for one pass, deleted the rest, and
// the next proof passed beside the damage.
func TestAFailedProofInTheStoreStopsDeletionsWithoutAnyStatus(t *testing.T) {
	for name, lose := range map[string]func(*State){
		"the status was lost":         func(s *State) { s.Status.LastArchiveProof = nil },
		"continuous was switched off": func(s *State) { s.Status.LastArchiveProof, s.Spec.Continuous = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := series(func(s *State) {
				s.Spec.BackupPolicy.MaxBackups = 1
				s.Spec.Continuous = &v1beta2.ContinuousArchive{Window: "1ns"}
			})
			present := time.Now()
			first := v1beta2.Snapshot{}
			for hour := range 4 {
				w.now = at(present.Add(time.Duration(hour-10) * time.Hour))
				s.Status.Snapshot = w.attempt(s).Snapshot
				if hour == 0 {
					first = *s.Status.Snapshot
					o := jobSpecOf(s)
					failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 1, To: 2, Failed: true}, FromKey: strings.TrimPrefix(first.Path, "bucket/"), Message: "Revision 2 is damaged."}
					if err := archive.WriteProof(t.Context(), w.store, o.archiveRoot(), failed, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			set := func(kind string) { s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil); _ = kind }
			set(v1beta2.ConditionArchiving)
			lose(&s)
			w.now = at(present)
			r := w.attempt(s)
			if r.Pruned != 0 || !w.has(&first) || !strings.Contains(r.PruneProblem, "proofs/") {
				t.Errorf("%d snapshots were deleted, the problem is %q", r.Pruned, r.PruneProblem)
			}
		})
	}
}

// The next proof begins with the snapshot of the failed one, although no status says so.
func TestAProofThatFailedIsRepeatedFromTheStore(t *testing.T) {
	w := newWorld(t)
	s := series(func(s *State) { s.Spec.Continuous = &v1beta2.ContinuousArchive{} })
	first := w.attempt(s).Snapshot
	o := jobSpecOf(s)
	o.Newest = *first
	o.Newest.ClusterID, o.Newest.Path = "00000000000000ff", "later.db"
	failed := archive.Proof{ProofName: archive.ProofName{Timeline: 1, From: 1, To: 2, Failed: true}, FromKey: strings.TrimPrefix(first.Path, o.Target.Bucket+"/"), Message: "Revision 2 is damaged."}
	if err := archive.WriteProof(t.Context(), w.store, o.archiveRoot(), failed, nil); err != nil {
		t.Fatal(err)
	}
	proof, err := w.proveArchive(t.Context(), o, w.store, dbfile.KVHash{Revision: 99}, &jobProgress{})
	if err != nil || proof.Result != v1beta2.ProofFailed || proof.From != first.Path || proof.Message != string(failed.Message) {
		t.Errorf("proof %+v, error %v, want the failed one of the store", proof, err)
	}
	if err := w.store.Delete(t.Context(), failed.FromKey); err != nil {
		t.Fatal(err)
	}
	if proof, err = w.proveArchive(t.Context(), o, w.store, dbfile.KVHash{Revision: 99}, &jobProgress{}); err != nil || proof.Result != v1beta2.ProofSkipped {
		t.Errorf("proof %+v, error %v, want none after the snapshot was deleted", proof, err)
	}
}

// A status that was lost reports the failed proof of the store again.
func TestAFailedProofOfTheStoreIsReported(t *testing.T) {
	s := archivingState(t, later, func(s *State) {
		s.Archive.Proof = &v1beta2.ArchiveProof{Result: v1beta2.ProofFailed, From: "bucket/p.db", To: s.Status.Snapshot.Path, Message: "Revision 12 is damaged."}
	})
	s.Status = NewStatus(s, Scheduled{At: s.Now.Add(time.Hour)}, nil)
	c := conditionOf(s.Status.Conditions, v1beta2.ConditionReady)
	if c == nil || c.Reason != v1beta2.ReasonArchiveCorrupt || s.Status.LastArchiveProof == nil {
		t.Errorf("Ready is %+v, the last proof %+v", c, s.Status.LastArchiveProof)
	}
	if s.distrusted() == nil || s.proofWanted() {
		t.Error("the proof is repeated before there is another snapshot, or does not count")
	}
}

// A proof that could not run before the next snapshot was never made up for: the next one began with the newest snapshot.
func TestTheOldestPartThatIsNotProvenComesFirst(t *testing.T) {
	o := jobSpecOf(archivingState(t))
	p := provable{o: o, known: snapshot.Known{}}
	own := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: 0xabc}
	for i := range int64(200) { // more than are read at a time
		key := own.Key(t0.Add(time.Duration(i)*time.Minute), 10*(i+1))
		p.items = append(p.items, snapshot.Item{Key: key, Series: own, Stored: t0.Add(time.Duration(i) * time.Minute)})
		p.known[key] = snapshot.Reading{Manifest: snapshot.Manifest{Revision: 10 * (i + 1), Backup: o.Name, Cluster: snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, ID: "0000000000000abc"}}}
	}
	r := archive.Range{Timeline: 1, From: archive.Point{Revision: 10}, To: archive.Point{Revision: 2000}}
	passed := func(from, to int64) archive.ProofName { return archive.ProofName{Timeline: 1, From: from, To: to} }
	for name, test := range map[string]struct {
		proofs   []archive.ProofName
		from, to int64 // 0 if all is proven
	}{
		"nothing is proven":                   {nil, 10, 20},
		"two parts are proven":                {[]archive.ProofName{passed(10, 20), passed(20, 30)}, 30, 40},
		"one in between was left out":         {[]archive.ProofName{passed(10, 20), passed(30, 2000)}, 20, 30},
		"only the newest part is proven":      {[]archive.ProofName{passed(1990, 2000)}, 10, 20},
		"a proof of another timeline":         {[]archive.ProofName{{Timeline: 2, From: 10, To: 2000}}, 10, 20},
		"a failed one proves nothing":         {[]archive.ProofName{{Timeline: 1, From: 10, To: 20, Failed: true}}, 10, 20},
		"all but the last part":               {[]archive.ProofName{passed(10, 1990)}, 1990, 2000},
		"everything is proven":                {[]archive.ProofName{passed(10, 2000)}, 0, 0},
		"everything is proven, in two parts":  {[]archive.ProofName{passed(10, 1000), passed(1000, 2000)}, 0, 0},
		"the snapshot of a proof was deleted": {[]archive.ProofName{passed(10, 25)}, 20, 30},
	} {
		bases, err := p.unproven(t.Context(), test.proofs, r, 2000)
		got := [2]int64{}
		if len(bases) > 1 {
			got = [2]int64{bases[0].Point.Revision, bases[1].Point.Revision}
		}
		if want := [2]int64{test.from, test.to}; err != nil || got != want {
			t.Errorf("%s: the next proof is from %d to %d, want %d, error %v", name, got[0], got[1], want, err)
		}
		if len(bases) > proofBases {
			t.Errorf("%s: it reads %d manifests", name, len(bases))
		}
	}
	// Repeated, each part is proven once, and the work ends.
	var proofs []archive.ProofName
	for range 300 {
		bases, err := p.unproven(t.Context(), proofs, r, 2000)
		if err != nil {
			t.Fatal(err)
		}
		if len(bases) == 0 {
			break
		}
		proofs = append(proofs, passed(bases[0].Point.Revision, bases[1].Point.Revision))
	}
	if len(proofs) != 199 || archive.Proven(proofs, 1, 10) != 2000 {
		t.Errorf("%s", fmt.Sprintf("%d proofs up to revision %d", len(proofs), archive.Proven(proofs, 1, 10)))
	}
}

package verify

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// A proof that could not run before the next snapshot was never made up for: the next one began with the newest snapshot.
func TestTheOldestPartThatIsNotProvenComesFirst(t *testing.T) {
	o := state.JobSpecOf(statetest.ArchivingState(t))
	p := provable{o: o, known: catalog.Known{}}
	own := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: 0xabc}
	for i := range int64(200) { // more than are read at a time
		key := own.Key(statetest.T0.Add(time.Duration(i)*time.Minute), 10*(i+1))
		p.items = append(p.items, catalog.Item{Key: key, Series: own, Stored: statetest.T0.Add(time.Duration(i) * time.Minute)})
		p.known[key] = catalog.Reading{Manifest: snapshot.Manifest{Revision: 10 * (i + 1), Backup: o.Name, Cluster: snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, ID: "0000000000000abc"}}}
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

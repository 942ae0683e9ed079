package verify

import (
	"math"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

type savedAt0 struct {
	key, rev int64
	noQuorum bool
}

func provableWith(t *testing.T, fakes []savedAt0) provable {
	o := state.JobSpecOf(statetest.ArchivingState(t))
	p := provable{o: o, known: catalog.Known{}}
	own := snapshot.Series{Folder: o.Target.Key, Namespace: o.Namespace, Cluster: o.Cluster, ClusterID: 0xabc}
	for i, f := range fakes {
		at := statetest.T0.Add(time.Duration(i) * time.Minute)
		key := own.Key(at, f.key)
		p.items = append(p.items, catalog.Item{Key: key, Series: own, Stored: at})
		p.known[key] = catalog.Reading{Manifest: snapshot.Manifest{Revision: f.rev, NoQuorum: f.noQuorum, Backup: o.Name, Cluster: snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, ID: "0000000000000abc"}}}
	}
	return p
}

// A part that no proof ever takes hides its damage, while the status says that each part is proven.
func TestEachPartOfTheArchiveIsProven(t *testing.T) {
	many := []savedAt0{{10, 10, false}}
	for i := range int64(70) {
		many = append(many, savedAt0{11 + i, 11 + i, true})
	}
	many = append(many, savedAt0{100, 100, false}, savedAt0{110, 110, false})
	for name, fakes := range map[string][]savedAt0{
		"idle until the next run began, written before it captured": {{10, 10, false}, {10, 20, false}, {30, 30, false}},
		"one without quorum at the same revision":                   {{10, 10, false}, {10, 10, true}, {20, 20, false}, {30, 30, false}},
		"70 without quorum": many,
	} {
		p := provableWith(t, fakes)
		last := fakes[len(fakes)-1].rev
		r := archive.Range{Timeline: 1, From: archive.Point{Revision: 10}, To: archive.Point{Revision: last}}
		var proofs []archive.ProofName
		for range 20 {
			bases, err := p.unproven(t.Context(), proofs, r, last)
			if err != nil {
				t.Fatal(err)
			}
			if len(bases) == 0 {
				break
			}
			to := bases[1].Point.Revision
			proofs = append(proofs, archive.ProofName{Timeline: 1, From: bases[0].Point.Revision, To: to})
		}
		if got := archive.Proven(proofs, 1, 10); got != last {
			t.Errorf("%s: nothing is left to prove, but from revision 10 only %d is proven, want %d; proofs: %+v", name, got, last, proofs)
		}
	}
}

func TestAProofOfRevisionsThatDoNotExistEndsNoProofs(t *testing.T) {
	p := provableWith(t, []savedAt0{{10, 10, false}, {20, 20, false}})
	r := archive.Range{Timeline: 1, From: archive.Point{Revision: 10}, To: archive.Point{Revision: 20}}
	bases, err := p.unproven(t.Context(), []archive.ProofName{{Timeline: 1, From: 1, To: math.MaxInt64}}, r, 20)
	if err != nil || len(bases) == 0 {
		t.Errorf("nothing is proven any more: %v %v", bases, err)
	}
}

package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// faulty are objects with faults.
type faulty struct {
	omitted, sick []string
	gone          []string // neither listed nor returned
	cold          []string // in an archive storage class
}

// over returns a store with these faults.
func (f faulty) over(store objstore.Store) *objstoretest.Faulty {
	out := objstoretest.NewFaulty(store)
	for fault, keys := range map[objstoretest.Fault][]string{
		objstoretest.Omitted: f.omitted, objstoretest.Lost: f.sick, objstoretest.Gone: f.gone, objstoretest.Cold: f.cold,
	} {
		for _, key := range keys {
			out.Set(key, out.Of(key)|fault)
		}
	}
	return out
}

// pointOf is point with a store that has faults, and without some bases that are damaged.
func (s shelf) pointOf(c Choice, f faulty, damaged ...string) (Point, error) {
	s.Helper()
	store, err := file.Open(s.bucket)
	if err != nil {
		s.Fatal(err)
	}
	c.Folder = true
	src := v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}
	return c.findPoint(s.Context(), f.over(store), src, archive.Target{Revision: c.Revision}, archive.Progress{}, damaged)
}

func (s shelf) links(number archive.Timeline) []string {
	s.Helper()
	store, err := file.Open(s.bucket)
	if err != nil {
		s.Fatal(err)
	}
	root := archive.Root("daily", "ns", "a")
	all, release, err := archive.List(s.Context(), store, root)
	if err != nil {
		s.Fatal(err)
	}
	defer release()
	var keys []string
	for _, link := range all[number-1].Links {
		keys = append(keys, link.Key(root))
	}
	return keys
}

func (s shelf) remove(keys ...string) {
	s.Helper()
	for _, key := range keys {
		if err := os.Remove(filepath.Join(s.bucket, key)); err != nil {
			s.Fatal(err)
		}
	}
}

// past is an archive of two timelines that have the same revisions with other data.
type past struct {
	shelf
	first, second string // the bases
	choice        Choice // of revision 50
}

// pasts returns the ways in which two timelines come to have the same revisions.
func pasts(t *testing.T) map[string]past {
	made := map[string]past{}
	for name, ids := range map[string][2]uint64{"the quorum was lost": {1, 1}, "the EtcdCluster was created again": {1, 2}, "the EtcdCluster was restored": {1, 3}} {
		s, recovery, uid := newShelf(t), "", "deleted"
		if ids[0] == ids[1] {
			recovery = "r"
		}
		if ids[1] != 2 {
			uid = "present"
		}
		first := s.rewrite(s.savedAt("a", ids[0], dawn, 2, 2), func(m *snapshot.Manifest) { m.Cluster.UID = uid })
		s.timeline(1, first, 2, 100, "")
		second := s.rewrite(s.savedAt("a", ids[1], dawn.Add(5*time.Hour), 40, 40), func(m *snapshot.Manifest) { m.Recovery, m.Cluster.UID = recovery, "present" })
		s.timeline(2, second, 40, 120, recovery)
		made[name] = past{s, first, second, Choice{Revision: 50, Of: "ns/a", Prefer: snapshot.Series{ClusterID: ids[1]}.ID(), UID: "present"}}
	}
	return made
}

func (p past) start() string { return archive.StartKey(archive.Root("daily", "ns", "a"), 2) }

func TestNoFaultOfTheNewestTimelineRestoresALostHistory(t *testing.T) {
	for name, fault := range map[string]func(p past) (f faulty, damaged []string){
		"the store does not return the manifest": func(p past) (faulty, []string) { return faulty{sick: []string{snapshot.ManifestKey(p.second)}}, nil },
		"a listing omits the manifest":           func(p past) (faulty, []string) { return faulty{omitted: []string{snapshot.ManifestKey(p.second)}}, nil },
		"a listing omits a segment":              func(p past) (faulty, []string) { return faulty{omitted: p.links(2)[4:5]}, nil },
		"a segment is missing":                   func(p past) (faulty, []string) { p.remove(p.links(2)[4]); return faulty{}, nil },
		"the start is missing":                   func(p past) (faulty, []string) { p.remove(p.start()); return faulty{}, nil },
		"the base is damaged":                    func(p past) (faulty, []string) { return faulty{}, []string{p.second} },
		"the base was deleted": func(p past) (faulty, []string) {
			p.remove(p.second, snapshot.ManifestKey(p.second))
			return faulty{}, nil
		},
		"the base failed its restore test": func(p past) (faulty, []string) { p.verdict(p.second, snapshot.Failed); return faulty{}, nil },
		"the manifest is garbage": func(p past) (faulty, []string) {
			p.file(snapshot.ManifestKey(p.second), []byte("{"))
			return faulty{}, nil
		},
	} {
		for history, p := range pasts(t) {
			if found, err := p.pointOf(p.choice, faulty{}); err != nil || found.Timeline != 2 {
				t.Fatalf("%s, without a fault: timeline %d, %v", history, found.Timeline, err)
			}
			f, damaged := fault(p)
			found, err := p.pointOf(p.choice, f, damaged...)
			if err == nil && found.Timeline != 2 {
				t.Errorf("%s, %s: the other history is restored: %s", history, name, found.Because())
			}
			if omitted := len(f.omitted) > 0 && strings.HasSuffix(f.omitted[0], ".json"); omitted && err != nil {
				t.Errorf("%s, %s: the store was not asked: %v", history, name, err)
			}
		}
	}
}

// A listing omits the start, but the store returns it.
func TestAnOmittedStartEndsNoRestore(t *testing.T) {
	for history, p := range pasts(t) {
		if found, err := p.pointOf(p.choice, faulty{omitted: []string{p.start()}}); err != nil || found.Timeline != 2 {
			t.Errorf("%s: timeline %d, %v", history, found.Timeline, err)
		}
	}
}

// The present EtcdCluster is older than its window, so its first base was deleted.
func TestARevisionBeforeTheWindowIsNotTakenFromADeletedEtcdCluster(t *testing.T) {
	p := pasts(t)["the EtcdCluster was created again"]
	at := dawn.Add(5*time.Hour + 42*time.Minute)
	later := p.rewrite(p.savedAt("a", 2, at, 80, 80), func(m *snapshot.Manifest) { m.Cluster.UID = "present" })
	p.remove(p.second, snapshot.ManifestKey(p.second))
	if found, err := p.pointOf(p.choice, faulty{}); !archive.IsRefusal(err) {
		t.Errorf("%v: %s", err, found.Because())
	}
	p.choice.Revision = 90
	if found, err := p.pointOf(p.choice, faulty{}); err != nil || found.Base.Key != later {
		t.Errorf("a revision in the window: %s, %v", found.Base.Key, err)
	}
	p.choice.Revision, p.choice.ClusterID = 50, "0000000000000001"
	if found, err := p.pointOf(p.choice, faulty{}); err != nil || found.Base.Key != p.first {
		t.Errorf("by the cluster ID of the deleted one: %s, %v", found.Base.Key, err)
	}
}

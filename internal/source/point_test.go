package source

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// archived begins a timeline with a snapshot that has revision 2, and archives one revision a minute up to the last one. The number of the
// timeline is that of the cluster.
func (s shelf) archived(key string, last int64) {
	s.Helper()
	parsed, ok := snapshot.ParseKey(key)
	if !ok {
		s.Fatalf("%s is no key of a series", key)
	}
	s.timeline(archive.Timeline(parsed.ClusterID), key, 2, last, "")
}

// timeline archives a revision a minute after that of its base, up to the last one. A cluster ID has several timelines after recoveries of a lost
// quorum.
func (s shelf) timeline(number archive.Timeline, key string, from, last int64, recovery string) {
	s.Helper()
	parsed, _ := snapshot.ParseKey(key)
	root := archive.Root(parsed.Folder, parsed.Namespace, parsed.Cluster)
	start := archive.NewStart(number, parsed.ClusterID, archive.Base{Key: key, Point: archive.Point{Revision: from, At: parsed.Time}}, "test")
	start.Recovery = recovery
	s.file(archive.StartKey(root, number), start.Encode())
	chain := start.Chain()
	for revision := from + 1; revision <= last; revision++ {
		var records, object bytes.Buffer
		w := archive.NewWriter(&records, chain, auth.State{})
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), CreateRevision: 3, ModRevision: revision, Version: revision - 2}}
		if err := w.Add(event, parsed.Time.Add(time.Duration(revision-from+2)*time.Minute)); err != nil {
			s.Fatal(err)
		}
		h, err := w.Seal(nil, auth.State{}, 0)
		if err == nil {
			h, err = archive.WriteObject(&object, codec.Encoder{}, h, &records)
		}
		if err != nil {
			s.Fatal(err)
		}
		s.file(archive.LinkKey(root, number, chain.At, h.First), object.Bytes())
		chain = h.Chain()
	}
}

func (s shelf) point(c Choice, progress archive.Progress) (Point, error) {
	c.Folder = true
	return FindPoint(s.Context(), v1beta2.RestoreSource{StorageType: "File", Bucket: s.bucket, Key: "daily/"}, By{}, c, progress)
}

func TestAPointIsTheSnapshotBeforeItAndTheSegmentsUpToIt(t *testing.T) {
	s := newShelf(t)
	key := s.saved("a", 1, 1)
	s.archived(key, 9)
	later := s.saved("a", 1, 2)
	s.verdict(s.saved("a", 1, 3), snapshot.Failed)
	minute := func(n int) string { return dawn.Add(time.Hour + time.Duration(n)*time.Minute).Format(time.RFC3339) }
	for name, test := range map[string]struct {
		choice   Choice
		reached  int64
		segments int
	}{
		"a revision":             {Choice{Revision: 5}, 5, 3},
		"the snapshot itself":    {Choice{Revision: 2}, 2, 0},
		"the last one":           {Choice{Revision: 9}, 9, 7},
		"a time":                 {Choice{Time: minute(5)}, 5, 3},
		"a time of a cluster ID": {Choice{Time: minute(6), ClusterID: "0000000000000001"}, 6, 4},
	} {
		p, err := s.point(test.choice, archive.Progress{})
		if err != nil || p.Reached.Revision != test.reached || len(p.Links) != test.segments || p.Series.Cluster != "a" {
			t.Errorf("%s: revision %d after %d segments of %s, error %v", name, p.Reached.Revision, len(p.Links), p.Base.Key, err)
		}
		if err == nil && p.Base.Key != key && p.Base.Key != later {
			t.Errorf("%s: the base is %s", name, p.Base.Key)
		}
	}
}

func TestAPointOutsideOfTheArchiveIsRefusedWithTheNearestOne(t *testing.T) {
	s := newShelf(t)
	s.archived(s.saved("a", 1, 1), 9)
	for _, c := range []Choice{{Revision: 10}, {Revision: 1}, {Time: dawn.Format(time.RFC3339)}, {Time: dawn.Add(2 * time.Hour).Format(time.RFC3339)}} {
		if _, err := s.point(c, archive.Progress{}); !archive.IsRefusal(err) || !strings.Contains(err.Error(), "Choose revision") {
			t.Errorf("%+v: error %v", c, err)
		}
	}
	if _, err := s.point(Choice{Revision: 5, ClusterID: "00000000000000ff"}, archive.Progress{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another cluster ID: error %v", err)
	}
	idle := archive.Progress{Timeline: 1, Point: archive.Point{Revision: 9, At: dawn.Add(3 * time.Hour)}}
	if p, err := s.point(Choice{Time: dawn.Add(2 * time.Hour).Format(time.RFC3339)}, idle); err != nil || p.Reached.Revision != 9 {
		t.Errorf("an idle cluster: revision %d, error %v", p.Reached.Revision, err)
	}
	s.archived(s.saved("b", 2, 1), 4)
	if _, err := s.point(Choice{Revision: 4}, archive.Progress{}); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("two clusters: error %v", err)
	}
}

func TestAReplayBeginsWithNoSnapshotThatFailedItsRestoreTest(t *testing.T) {
	s := newShelf(t)
	key := s.saved("a", 1, 1)
	s.archived(key, 9)
	if _, err := s.point(Choice{Revision: 5}, archive.Progress{}); err != nil {
		t.Fatal(err)
	}
	s.verdict(key, snapshot.Failed)
	if p, err := s.point(Choice{Revision: 5}, archive.Progress{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the base is %q, error %v", p.Base.Key, err)
	}
}

func TestAPointOfAnEncryptedArchiveIsStoredEncrypted(t *testing.T) {
	plain, encrypted := archive.Link{}, archive.Link{Header: archive.Header{Encryption: codec.Age}}
	for _, test := range []struct {
		base  snapshot.Manifest
		links []archive.Link
		want  string
	}{
		{snapshot.Manifest{}, []archive.Link{plain}, ""},
		{snapshot.Manifest{Encryption: codec.Age}, []archive.Link{plain}, codec.Age},
		{snapshot.Manifest{}, []archive.Link{plain, encrypted, plain}, codec.Age},
	} {
		if got := (Point{Manifest: test.base, Choice: archive.Choice{Links: test.links}}).Encoding(); got.Encryption != test.want {
			t.Errorf("got %q, want %q", got.Encryption, test.want)
		}
	}
}

// A snapshot every five minutes makes a thousand in three days.
func TestARevisionBeforeAThousandSnapshotsIsFound(t *testing.T) {
	s := newShelf(t)
	s.archived(s.saved("a", 1, 1), 9)
	for minute := range maxBases + 1 {
		s.savedAt("a", 1, dawn.Add(24*time.Hour+time.Duration(minute)*time.Minute), 10, 10)
	}
	if p, err := s.point(Choice{Revision: 5}, archive.Progress{}); err != nil || p.Reached.Revision != 5 {
		t.Errorf("revision %d, error %v", p.Reached.Revision, err)
	}
}

// Two Kubernetes have a cluster of that name, and use one folder. An EtcdRestore of the first brought the data of the second.
func TestAPointIsOfTheClusterOfItsEtcdBackup(t *testing.T) {
	s := newShelf(t)
	own, other := s.saved("a", 1, 1), s.saved("a", 2, 2)
	s.archived(own, 200)
	s.archived(other, 100)
	minute := func(n int) string { return dawn.Add(time.Hour + time.Duration(n)*time.Minute).Format(time.RFC3339) }
	for name, test := range map[string]struct {
		choice Choice
		base   string // empty for a refusal
	}{
		"a time that both have":                 {Choice{Time: minute(80), Prefer: "0000000000000001"}, own},
		"a revision that both have":             {Choice{Revision: 20, Prefer: "0000000000000001"}, own},
		"a time before the own cluster existed": {Choice{Time: minute(30), Prefer: "0000000000000002"}, own},
		"a revision that only the other has":    {Choice{Revision: 150, Prefer: "0000000000000002"}, ""},
		"that revision by the cluster ID":       {Choice{Revision: 150, Prefer: "0000000000000002", ClusterID: "0000000000000001"}, own},
		"a time after the own archive":          {Choice{Time: minute(190), Prefer: "0000000000000002"}, ""},
		"the other one by its cluster ID":       {Choice{Time: minute(80), Prefer: "0000000000000001", ClusterID: "0000000000000002"}, other},
	} {
		p, err := s.point(test.choice, archive.Progress{})
		if got := p.Choice.Base.Key; got != test.base || (err != nil) != (test.base == "") {
			t.Errorf("%s: the base is %q, want %q; error %v", name, got, test.base, err)
		}
	}
}

// A point in an incarnation that was deleted was refused, because the one after it had more than a thousand snapshots.
func TestManySnapshotsOfALaterIncarnationHideNoBase(t *testing.T) {
	var fitting []candidate
	for n := range maxBases + 1 { // newest first
		fitting = append(fitting, candidateOf(2, dawn.Add(time.Duration(2*maxBases-n)*time.Minute), int64(maxBases+1-n)))
	}
	fitting = append(fitting, candidateOf(1, dawn.Add(time.Minute), 9000), candidateOf(1, dawn, 5000))
	var own []string
	for _, item := range usable(fitting, archive.Target{Revision: 6000}) {
		if item.Series.ClusterID == 1 {
			own = append(own, item.Key)
		}
	}
	if len(own) != 2 || own[1] != fitting[len(fitting)-1].Key {
		t.Errorf("of the earlier incarnation it reads %v, want the base at 5000 and the snapshot after the point", own)
	}
}

func candidateOf(id uint64, at time.Time, revision int64) candidate {
	series := snapshot.Series{Folder: "daily", Namespace: "ns", Cluster: "a", ClusterID: id}
	return candidate{catalog.Item{Key: series.Key(at, revision), Series: series, Time: at}, "ns/a", series.ID()}
}

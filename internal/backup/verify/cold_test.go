package verify_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/verify"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// The oldest part of the archive that was not proven began with a snapshot in an archive class, for example after an upgrade. Each proof began with it
// and failed, so the newer parts were never proven.
func TestAColdSnapshotEndsNoProofsOfNewerParts(t *testing.T) {
	for name, fault := range map[string]objstoretest.Fault{"cold": objstoretest.Cold, "lost": objstoretest.Lost} {
		w := attempttest.NewKept(t, snapshot.Passed)
		survey, index, known := surveyed(t, w)
		newest, oldest := index.Items[0], index.Items[len(index.Items)-1]
		o := w.O
		o.Newest = o.Shown(newest.Key, known[newest.Key].Manifest, snapshot.Anyone)
		o.Ranges = survey.Ranges
		survey.Drop()
		w.Set(oldest.Key, fault)
		key, to, found, err := verify.ChooseInterval(t.Context(), o, w, known[newest.Key].Manifest.Revision)
		if err != nil || !found || key == oldest.Key || key == "" {
			t.Errorf("%s: found %t, from %q to %s: %v", name, found, key, to, err)
		}
	}
}

// The store has lost one segment for good. Each proof begins with the part that needs it and fails, so no newer part is proven. A cold segment does
// not do that.
func TestALostSegmentEndsNoProofsOfNewerParts(t *testing.T) {
	for name, fault := range map[string]objstoretest.Fault{"cold": objstoretest.Cold, "lost": objstoretest.Lost} {
		w := attempttest.NewKept(t, snapshot.Passed)
		survey, index, known := surveyed(t, w)
		newest := index.Items[0]
		o := w.O
		o.Newest = o.Shown(newest.Key, known[newest.Key].Manifest, snapshot.Anyone)
		o.Ranges = survey.Ranges
		survey.Drop()
		var segments []string
		for _, key := range w.Keys() {
			if strings.HasPrefix(key, o.ArchiveRoot()) && strings.HasSuffix(key, ".segment") {
				segments = append(segments, key)
			}
		}
		w.Set(segments[1], fault)
		from, _, found, err := verify.ChooseInterval(t.Context(), o, w, known[newest.Key].Manifest.Revision)
		if err != nil || !found {
			t.Errorf("%s: nothing is proven, ranges %+v: found %t from %q: %v", name, o.Ranges, found, from, err)
		}
		// The listing names a cold segment. A lost one in the middle is found by the proof only, so its message must name it.
		if says := verify.SaysOfPassed(t.Context(), o, w, known[newest.Key].Manifest.Revision); name == "lost" && !strings.Contains(says, segments[1]) {
			t.Errorf("%s: the proof of the newer part does not name the segment %s: %s", name, segments[1], says)
		}
		if got := verify.UnreadOfPassed(t.Context(), o, w, known[newest.Key].Manifest.Revision); name == "lost" && got != segments[1] {
			t.Errorf("%s: the proof of the newer part records %q, not the segment %s", name, got, segments[1])
		}
	}
}

// surveyed returns what the store of a test has.
func surveyed(t *testing.T, w *attempttest.Kept) (archive.Survey, catalog.Index, catalog.Known) {
	t.Helper()
	known := catalog.Known{}
	index, err := catalog.Scan(t.Context(), w, w.O.SeriesOf(1).Lives())
	if err == nil {
		err = known.Read(t.Context(), w, index.Items, snapshot.Anyone)
	}
	if err != nil {
		t.Fatal(err)
	}
	var bases []archive.Base
	for _, item := range index.Items {
		if item.Verdict != snapshot.Failed {
			bases = append(bases, source.BaseOf(item.Key, known[item.Key].Manifest, item.Stored))
		}
	}
	survey, err := archive.Look(t.Context(), w, w.O.ArchiveRoot(), bases, 16)
	if err != nil {
		t.Fatal(err)
	}
	return survey, index, known
}

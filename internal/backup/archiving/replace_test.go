package archiving

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/inventory"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// A snapshot that replaces a failed one may also fail. It was not replaced until the next scheduled snapshot, for example a day later. The
// archive had no proof during that time.
func TestEachSnapshotOfAnArchiveThatFailsItsTestIsReplacedWithABackoff(t *testing.T) {
	w := attempttest.NewWorld(t)
	now := statetest.T0
	w.Now = func() time.Time { return now }
	o := state.JobSpecOf(statetest.ArchivingState(t))
	take := func(revision int64, verdict snapshot.Result) {
		m := snapshot.Manifest{
			FormatVersion: snapshot.FormatVersion, Cluster: snapshot.Cluster{Namespace: o.Namespace, Name: o.Cluster, ID: "0000000000000001"}, Revision: revision, Keys: 1, Size: 4,
			SHA256: strings.Repeat("0", 64), CreatedAt: now.UTC(), CapturedAt: now.UTC(), Backup: o.Name,
		}
		content, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		key := o.SeriesOf(1).EncodedKey(now, revision, o.Encoder.Encoding())
		for k, text := range map[string]string{key: "data", snapshot.ManifestKey(key): string(content)} {
			if err := w.Store.Put(t.Context(), k, strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		if verdict != "" {
			if err := snapshot.WriteVerdict(t.Context(), w.Store, key, snapshot.Verdict{Result: verdict, Time: now}); err != nil {
				t.Fatal(err)
			}
		}
	}
	take(5, snapshot.Passed)
	start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 5, At: statetest.T0}}, "test")
	if err := w.Store.Put(t.Context(), archive.StartKey(o.ArchiveRoot(), 1), objstore.NewMetadata(start.Encode())); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 1)
	a := &Archiver{notify: func() { asked <- struct{}{} }, turn: make(chan struct{}, 1), spec: Spec{job: o}}
	k := &keeper{job: &runner{Clients: w.Clients, spool: w.Spool}, Archiver: a, known: catalog.Known{}, asked: map[string]time.Time{}}
	look := func() {
		index, bases, err := inventory.Bases(t.Context(), w.Store, o, k.known, time.Hour)
		if err == nil {
			k.survey, err = archive.Look(t.Context(), w.Store, o.ArchiveRoot(), bases, inventory.RangesShown)
		}
		if err != nil {
			t.Fatal(err)
		}
		k.findSpoilt(o, index)
	}
	now = statetest.T0.Add(24 * time.Hour) // a clock that is ahead
	take(5, snapshot.Failed)
	now = statetest.T0
	if look(); !k.replaceAt.IsZero() {
		t.Errorf("a failed snapshot from tomorrow is replaced at %s, although the newest one passed", k.replaceAt)
	}
	for i, pause := range []time.Duration{0, time.Minute, 2 * time.Minute, 4 * time.Minute} {
		now = now.Add(time.Second)
		take(int64(6+i), snapshot.Failed)
		look()
		if got := k.replaceAt.Sub(now); got != pause {
			t.Errorf("snapshot %d is replaced after %s, want %s", i+1, got, pause)
		}
		if pause > 0 {
			now = now.Add(pause - time.Second)
			k.replaceSpoilt(t.Context())
			if look(); len(k.asked) != i {
				t.Errorf("snapshot %d is replaced too early: %v", i+1, k.asked)
			}
			now = now.Add(time.Second)
		}
		k.replaceSpoilt(t.Context())
		<-asked
		want := a.look().Want
		if k.replaceSpoilt(t.Context()); len(k.asked) != i+1 {
			t.Errorf("snapshot %d is replaced %d times: %v", i+1, len(k.asked), k.asked)
		}
		a.give(want, archive.Base{})
	}
	take(20, "")
	if look(); !k.replaceAt.IsZero() {
		t.Errorf("a snapshot that was not tested yet is replaced at %s", k.replaceAt)
	}
}

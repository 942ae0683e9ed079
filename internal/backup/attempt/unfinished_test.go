package attempt_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// refusesManifests is a world whose store takes no manifests between two times. It saves as save.Snapshot does: a draft, the object, the manifest.
func refusesManifests(t *testing.T, from, until time.Time) (*attempttest.World, *objstoretest.Memory) {
	t.Helper()
	w, m := attempttest.NewWorld(t), objstoretest.NewMemory()
	m.Now = func() time.Time { return w.Now() }
	m.Refuses = func(key string) bool {
		return strings.HasSuffix(key, ".json") && !w.Now().Before(from) && w.Now().Before(until)
	}
	w.Store = m
	w.Save = func(ctx context.Context, r save.Request) (save.Saved, error) {
		body := fmt.Sprintf("data of %s at %s", r.Attempt, r.Time)
		sum := sha256.Sum256([]byte(body))
		made := snapshot.Manifest{
			FormatVersion: snapshot.FormatVersion, Cluster: r.Cluster, Revision: r.MinRevision + 1, Keys: 1, Size: int64(len(body)),
			SHA256: hex.EncodeToString(sum[:]), CreatedAt: r.Time.UTC(), Attempt: r.Attempt, Backup: r.Backup, Recovery: r.Recovery,
		}
		content, err := made.Encode()
		if err != nil {
			return save.Saved{}, err
		}
		draft := r.Key + ".draft-" + made.SHA256[:16]
		for _, o := range [][2]string{{draft, string(content)}, {r.Key, body}, {snapshot.ManifestKey(r.Key), string(content)}} {
			if err := m.Put(ctx, o[0], strings.NewReader(o[1])); err != nil {
				return save.Saved{}, err
			}
		}
		return save.Saved{Manifest: made}, m.Delete(ctx, draft)
	}
	return w, m
}

// count returns how many snapshots are in a store, and how many of them have a manifest.
func count(m *objstoretest.Memory) (objects, complete int) {
	for _, key := range m.Keys() {
		if _, ok := snapshot.ParseKey(key); !ok {
			continue
		}
		if objects++; m.Has(snapshot.ManifestKey(key)) {
			complete++
		}
	}
	return objects, complete
}

// The cluster recovers from a lost quorum, and for two days the store takes no manifests. The objects are the only snapshots of what clients have
// written since. The first run after that deleted them as leftovers of a killed operator, and reported nothing.
func TestSnapshotsWhoseManifestsTheStoreRefusedAreCompleted(t *testing.T) {
	const hours = 54
	w, m := refusesManifests(t, statetest.T0.Add(3*time.Hour), statetest.T0.Add(51*time.Hour))
	refused := 0
	attempt := func(now time.Time) state.Result {
		w.Now = statetest.At(now)
		o := state.JobSpecOf(statetest.Series())
		if now.After(statetest.T0.Add(2 * time.Hour)) {
			o.Recovery = "r"
		}
		return w.Run(t.Context(), o, &queue.Progress{})
	}
	for try := range hours * 4 { // every 15 minutes, as the operator tries again after a failure
		r := attempt(statetest.T0.Add(time.Duration(try) * 15 * time.Minute))
		if r.Failure != nil {
			if refused++; !strings.Contains(r.Failure.Message, ".json") {
				t.Fatalf("the status does not say that a manifest is refused: %+v", r.Failure)
			}
		}
	}
	objects, _ := count(m)
	if refused < 100 {
		t.Fatalf("%d attempts were refused: the test has too few", refused)
	}
	if objects > hours+1 {
		t.Errorf("there are %d snapshots of %d hours: each attempt stores another one", objects, hours)
	}
	if objects < hours-2 {
		t.Errorf("of %d hourly snapshots, %d are left, and the spec has no retention", hours, objects)
	}
	for try := range 15 {
		if r := attempt(statetest.T0.Add(time.Duration(hours+try) * time.Hour)); r.Failure != nil {
			t.Fatalf("%+v", r.Failure)
		}
	}
	if objects, complete := count(m); complete < objects {
		t.Errorf("of %d snapshots, %d have a manifest", objects, complete)
	}
	for _, key := range m.Keys() {
		named, ok := snapshot.ParseKey(key)
		if !ok || named.Time.Before(statetest.T0.Add(4*time.Hour)) {
			continue
		}
		if manifest, err := snapshot.ManifestOf(t.Context(), m, key, snapshot.Anyone); err != nil || manifest == nil || manifest.Recovery != "r" {
			t.Fatalf("the snapshot %s does not say that it is from after the recovery: %+v, %v", key, manifest, err)
		}
	}
}

// Another object than the one of the draft gets no manifest, and is kept and reported.
func TestAnotherObjectThanThatOfTheDraftGetsNoManifest(t *testing.T) {
	w, m := refusesManifests(t, statetest.T0, statetest.T0.Add(time.Minute))
	w.Now = statetest.At(statetest.T0)
	if r := w.Attempt(statetest.Series()); r.Failure == nil {
		t.Fatal("the manifest is not refused")
	}
	var object string
	for _, key := range m.Keys() {
		if _, ok := snapshot.ParseKey(key); ok {
			object = key
		}
	}
	body := []byte{}
	if reader, err := m.Get(t.Context(), object); err == nil {
		body = make([]byte, 200)
		n, _ := reader.Read(body)
		body = body[:n]
	}
	if err := m.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	attempttest.Place(t, m, object, strings.ToUpper(string(body)))
	for _, later := range []time.Duration{time.Hour, 26 * time.Hour} {
		w.Now = statetest.At(statetest.T0.Add(later))
		r := w.Attempt(statetest.Series())
		if r.Failure != nil || !m.Has(object) || m.Has(snapshot.ManifestKey(object)) {
			t.Errorf("after %s: %+v, left %q", later, r, m.Keys())
		}
		if later > attempt.LeftoverAge && !strings.Contains(r.PruneProblem, object) {
			t.Errorf("it is not reported: %q", r.PruneProblem)
		}
	}
}

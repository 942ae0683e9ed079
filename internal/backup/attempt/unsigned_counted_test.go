package attempt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A user may write to the bucket and may delete nothing. They wrote some manifests without a signature, with objects of a few bytes. These were the
// newest snapshots, so the operator deleted all signed ones but its last one.
func TestSnapshotsWithoutASignatureTakeNoPlaceOfSignedOnes(t *testing.T) {
	w := newSigningWorld(t, signingSecret(t))
	given := statetest.Series(signs, statetest.Keep(3))
	var saved []string
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		r := w.Attempt(given)
		if r.Failure != nil {
			t.Fatal(r.Failure)
		}
		saved = append(saved, strings.TrimPrefix(r.Snapshot.Path, "bucket/"))
	}
	for i := range 6 {
		forge(t, w, saved[2], statetest.T0.Add(2*time.Hour+time.Duration(i+1)*time.Minute))
	}
	for hour := range 3 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour+4) * time.Hour))
		r := w.Attempt(given)
		if r.Failure != nil {
			t.Fatal(r.Failure)
		}
		saved = append(saved, strings.TrimPrefix(r.Snapshot.Path, "bucket/"))
		for _, key := range saved[len(saved)-3:] {
			if !slices.Contains(w.Keys(), key) {
				t.Errorf("after hour %d the signed snapshot %s is deleted", hour+4, key)
			}
		}
	}
	if left := w.SnapshotsIn("dir/"); left > 6 {
		t.Errorf("%d snapshots are left: those without a signature are not deleted either", left)
	}
}

// forge writes a small object with the manifest of another one, without its signature.
func forge(t *testing.T, w *attempttest.World, like string, at time.Time) {
	t.Helper()
	m, err := snapshot.ManifestOf(t.Context(), w.Store, like, snapshot.Anyone)
	if err != nil {
		t.Fatal(err)
	}
	named, _ := snapshot.ParseKey(like)
	forged, key := *m, named.Key(at, named.Revision)
	forged.Signature, forged.Size, forged.CreatedAt, forged.Attempt = snapshot.Signature{}, 4, at, ""
	content, err := forged.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{key: "data", snapshot.ManifestKey(key): string(content)} {
		if err := w.Store.Put(t.Context(), name, strings.NewReader(text)); err != nil {
			t.Fatal(fmt.Errorf("forge %s: %w", name, err))
		}
	}
}

package save_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

func TestManifestHasTheTimeAtWhichTheMemberHadBegunToSend(t *testing.T) {
	store := snapshottest.NewBucket(t)
	begun := snapshottest.Noon.Add(90*time.Second + time.Millisecond)
	saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.Member, 10), func(r *save.Request) { r.Clock = func() time.Time { return begun } }))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := snapshot.DecodeManifest(store.Content(snapshottest.Key + ".json"))
	if want := snapshottest.Noon.Add(91 * time.Second); err != nil || !stored.CapturedAt.Equal(want) || !saved.Manifest.CapturedAt.Equal(want) || !stored.CreatedAt.Equal(snapshottest.Noon) {
		t.Errorf("captured at %s and created at %s, want %s and noon, error %v", stored.CapturedAt, stored.CreatedAt, want, err)
	}
}

// select.before relies on CapturedAt. Without it, a restore "before the mistake" may bring the mistake back.
func TestASnapshotWhoseAnswerWasLostSaysWhenItWasCaptured(t *testing.T) {
	content := snapshottest.Database(t, snapshottest.Member, 300)
	store := snapshottest.NewBucket(t)
	begun := snapshottest.Noon.Add(20 * time.Minute) // it waited for space on the spool volume
	saved, err := save.Snapshot(t.Context(), snapshottest.Request(t, snapshottest.Forgetful{Store: store, Key: snapshottest.Key}, content, func(r *save.Request) {
		r.Clock = func() time.Time { return begun }
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !saved.Manifest.CapturedAt.Equal(begun) {
		t.Errorf("created at %s and captured at %q: the manifest does not say that the snapshot holds writes of the 20 minutes after its name", saved.Manifest.CreatedAt, saved.Manifest.CapturedAt)
	}
}

package snapshot

import (
	"testing"
	"time"
)

func TestManifestHasTheTimeAtWhichTheMemberHadBegunToSend(t *testing.T) {
	store := newBucket(t)
	begun := noon.Add(90*time.Second + time.Millisecond)
	saved, err := Save(t.Context(), request(t, store, database(t, member, 10), func(r *Request) { r.Clock = func() time.Time { return begun } }))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := DecodeManifest(store.get(key + ".json"))
	if want := noon.Add(91 * time.Second); err != nil || !stored.CapturedAt.Equal(want) || !saved.Manifest.CapturedAt.Equal(want) || !stored.CreatedAt.Equal(noon) {
		t.Errorf("captured at %s and created at %s, want %s and noon, error %v", stored.CapturedAt, stored.CreatedAt, want, err)
	}
}

// select.before relies on CapturedAt. Without it, a restore "before the mistake" may bring the mistake back.
func TestASnapshotWhoseAnswerWasLostSaysWhenItWasCaptured(t *testing.T) {
	content := database(t, member, 300)
	store := newBucket(t)
	begun := noon.Add(20 * time.Minute) // it waited for space on the spool volume
	saved, err := Save(t.Context(), request(t, forgetful{store, key}, content, func(r *Request) {
		r.Clock = func() time.Time { return begun }
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !saved.Manifest.CapturedAt.Equal(begun) {
		t.Errorf("created at %s and captured at %q: the manifest does not say that the snapshot holds writes of the 20 minutes after its name", saved.Manifest.CreatedAt, saved.Manifest.CapturedAt)
	}
}

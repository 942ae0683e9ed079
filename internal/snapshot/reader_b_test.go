package snapshot

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// select.before relies on CapturedAt: a matching snapshot holds no write after that time.
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

// The node's clock is ten days ahead during one run.
func TestAClockThatRunsAheadDeletesNoHistory(t *testing.T) {
	var l Listing
	for hour := range 48 {
		l.Snapshots = append(l.Snapshots, entry(ours, hour*60, int64(hour)))
	}
	wrong := entry(ours, (48+240)*60, 48)
	l.Snapshots = append(l.Snapshots, wrong)
	deleted := retained(t, ours, l, Policy{Within: 7 * 24 * time.Hour, Now: wrong.Manifest.CreatedAt, Saved: wrong.Key})
	if diff := cmp.Diff(0, len(deleted)); diff != "" {
		t.Errorf("%d of %d objects of the last 48 hours are deleted, although keepWithin is a week", len(deleted), 2*48)
	}
}

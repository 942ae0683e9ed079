package follower

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// A lifecycle rule has moved the oldest objects of the first location to an archive class, which are the starts of five timelines. The segments in them and the
// newest timeline can be read. The copy ended at the fourth timeline, each time, as if the store returned nothing, so the second location never had an archive.
func TestTheStartsOfTimelinesThatCannotBeReadStopNoOtherTimelines(t *testing.T) {
	b := newBench(t)
	for n := range archive.Timeline(5) {
		b.begin(n+1, 10)
		b.segments(2)
		b.from.refused[archive.StartKey(first, n+1)] = fs.ErrPermission
	}
	b.begin(6, 10)
	b.segments(3)
	if copied, err := b.Sync(t.Context(), Floor{}); err != nil || copied != 4 {
		t.Errorf("%d objects are copied, want 4: %v", copied, err)
	}
	if at, synced := b.At(); !synced || at.Timeline != 6 {
		t.Errorf("it is copied up to %+v", at)
	}
	if n, which := b.Lacking(); n != 5 || which.Key(first) != archive.StartKey(first, 1) {
		t.Errorf("%d are lacking, such as %s", n, which.Key(first))
	}
}

// The credentials of the first location may list objects and not read them.
func TestAFirstLocationThatReturnsNoTimelineIsAnError(t *testing.T) {
	b := newBench(t)
	for n := range archive.Timeline(5) {
		b.begin(n+1, 10)
		b.from.refused[archive.StartKey(first, n+1)] = fs.ErrPermission
		for _, key := range b.segments(2) {
			b.from.refused[key] = fs.ErrPermission
		}
	}
	if _, err := b.Sync(t.Context(), Floor{}); !errors.Is(err, ErrSource) {
		t.Errorf("got %v", err)
	}
}

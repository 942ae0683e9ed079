package archiver

import (
	"sync/atomic"
	"testing"
	"time"
)

// A user made a cluster read-only to move it, and read the last revision. The archive had that revision only up to maxLag later. After the fence is removed,
// each change would be a segment of its own if the old fence counted for later revisions.
func TestTheLastChangeBeforeAFenceIsStoredAtOnce(t *testing.T) {
	b := newBench(t)
	var fence atomic.Int64
	a, stop := b.start(func(o *Options) { o.MaxLag, o.Fence = time.Minute, fence.Load })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a")
	b.put("2", "a")
	b.await("receive", func() bool { return a.Status().Received.Revision == 3 })
	if stored := a.Status().Stored.Revision; stored >= 3 {
		t.Errorf("revision %d is stored before there is a fence", stored)
	}
	fence.Store(3)
	b.await("store the last change", func() bool { return a.Status().Stored.Revision == 3 })
	b.put("3", "a")
	b.await("receive a change after the fence was removed", func() bool { return a.Status().Received.Revision == 4 })
	if n := a.Status().Segments; n != 1 {
		t.Errorf("%d segments, want one: a later change waits for its time", n)
	}
	_ = stop()
	b.wantEvents()
}

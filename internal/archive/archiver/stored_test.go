package archiver

import (
	"sync/atomic"
	"testing"
)

// A copy of the archive begins with the report of a segment. If it had to ask for the status from time to time, a second location would be as much later.
func TestEachStoredSegmentIsReportedAfterTheStatusHasIt(t *testing.T) {
	b := newBench(t)
	var reported, seen atomic.Int64
	var a *Archiver
	ready := make(chan struct{})
	a, stop := b.start(func(o *Options) {
		o.Stored = func() {
			<-ready
			reported.Add(1)
			seen.Store(a.Status().Stored.Revision)
		}
	})
	close(ready)
	b.await("begin", func() bool { return a.Status().Timeline > 0 })
	for i := range 3 {
		b.put("value", "key")
		b.await("report a segment", func() bool { return reported.Load() == int64(i+1) })
		if got := seen.Load(); got != int64(i+2) {
			t.Errorf("the status had revision %d, want %d", got, i+2)
		}
	}
	_ = stop()
	if links := b.histories()[0].Links; len(links) != int(reported.Load()) {
		t.Errorf("%d reports of %d segments", reported.Load(), len(links))
	}
}

package archiver

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// full is a memory of which others have all.
type full struct{ encoded int }

func (*full) Take(int64) bool { return false }
func (*full) Return(int64)    {}
func (f *full) Encode(context.Context, int64) (func(), error) {
	f.encoded++
	return func() {}, nil
}

// During an outage of the store, each archive sealed a segment in each maxLag, and kept the header of each in memory. After six hours, those of a hundred archives had half a
// gibibyte, which no budget counted.
func TestAnOutageOfTheStoreMakesFewSegments(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	down := errors.New("the store is down")
	working := false
	b.store.put = func(key string, put func() error) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if working || strings.HasSuffix(key, "start") {
			return put()
		}
		return down
	}
	a, stop := b.start(func(o *Options) { o.Dir, o.MaxLag = dir, 10*time.Millisecond })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	for n := range 60 {
		b.put("value", "key")
		b.await("receive it", func() bool { return a.Status().Received.Revision >= int64(n+2) })
		<-time.After(15 * time.Millisecond)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(files); n < behind || n > behind+3 {
		t.Errorf("%d files wait for the store, want about %d", n, behind)
	}
	b.mu.Lock()
	working = true
	b.mu.Unlock()
	b.await("store all", func() bool { return a.Status().Stored.Revision == 61 })
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.wantEvents()
}

// Without memory for more, an archiver reads nothing ahead, and seals its segments after fewer leases.
func TestAnArchiverWorksWithoutSharedMemory(t *testing.T) {
	memory := &full{}
	l := newLeases(plain{}, 1, memory)
	seen := 0
	for ; !l.many(); seen++ {
		see(t, l, int64(seen+1))
	}
	if seen != leasesStep {
		t.Errorf("a segment ends at %d leases, want %d", seen, leasesStep)
	}
	var err error
	for ; err == nil; seen++ {
		err = l.see(t.Context(), int64(seen+1))
	}
	if !errors.Is(err, errLeasesMemory) || seen != 2*leasesStep+1 {
		t.Errorf("one revision has %d leases, and then: %v", seen, err)
	}
	if found, _ := l.take(); len(found) != 2*leasesStep || l.many() {
		t.Errorf("%d leases", len(found))
	}
	i := inbox{memory: memory, full: func() bool { return false }, responses: make(chan received), wanted: make(chan struct{}, 1)}
	if i.readsAhead() {
		t.Error("a response is read ahead")
	}
	if !i.request() {
		t.Error("the next response is not read")
	}
	b := newBench(t)
	a, stop := b.start(func(o *Options) { o.Memory = memory })
	b.await("begin", func() bool { return a.Status().Timeline == 1 })
	b.put("1", "a", "b")
	b.await("store it", func() bool { return a.Status().Stored.Revision == 2 })
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.wantEvents()
	if memory.encoded == 0 {
		t.Error("a segment was written without a turn")
	}
}

// counted is a memory that notes what is taken of it.
type counted struct {
	full
	taken, most int64
}

func (c *counted) Take(bytes int64) bool {
	c.taken += bytes
	c.most = max(c.most, c.taken)
	return true
}
func (c *counted) Return(bytes int64) { c.taken -= bytes }

// What an archiver has taken and does not return is missing for the others until the operator is restarted.
func TestAnArchiverReturnsTheSharedMemory(t *testing.T) {
	memory := &counted{}
	l := newLeases(plain{}, 1, memory)
	for n := range 5 * leasesStep {
		see(t, l, int64(n+1))
	}
	if memory.taken == 0 || l.many() {
		t.Errorf("%d bytes are taken for the leases", memory.taken)
	}
	l.take()
	if memory.taken != 0 {
		t.Errorf("%d bytes are taken after the segment", memory.taken)
	}
	i := inbox{memory: memory, full: func() bool { return false }, responses: make(chan received), wanted: make(chan struct{}, 1)}
	for range 3 {
		i.readsAhead()
		<-i.wanted
		i.read(received{Response: Response{}})
	}
	i.readsAhead() // one is requested
	i.next()
	i.drop()
	if memory.taken != 0 || memory.most < mostOfResponse {
		t.Errorf("%d bytes are taken after the session, and %d were", memory.taken, memory.most)
	}
}

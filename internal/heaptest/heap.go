// Package heaptest measures the memory of a test. docs/security.md promises bounds for what others decide, and these tests send more.
package heaptest

import (
	"runtime"
	"testing"
	"time"
)

const mib = 1 << 20

// Bound fails the test if f makes the heap grow by more than that many MiB at any time.
func Bound(t testing.TB, most uint64, f func()) {
	t.Helper()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := watch()
	f()
	if grown := max(peak(), before.HeapAlloc) - before.HeapAlloc; grown > most*mib {
		t.Errorf("the heap grew by %d MiB, and the bound is %d MiB", grown/mib, most)
	}
}

// Holds fails the test if what f returns takes more than that many KiB. It counts no garbage, so a machine under load changes nothing.
func Holds(t testing.TB, most uint64, f func() any) {
	t.Helper()
	live := func() uint64 {
		runtime.GC()
		runtime.GC() // a sync.Pool keeps what it has for one more
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	before := live()
	held := f()
	if grown := max(live(), before) - before; grown > most<<10 {
		t.Errorf("it takes %d KiB, and the bound is %d KiB", grown>>10, most)
	}
	runtime.KeepAlive(held)
}

// watch returns a function that returns the largest heap since then.
func watch() func() uint64 {
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for m := (runtime.MemStats{}); ; {
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 { close(stop); return <-peak }
}

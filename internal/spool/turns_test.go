package spool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// queue records which jobs were admitted, and when.
type queue struct {
	t     *testing.T
	spool *Spool
	mu    sync.Mutex
	when  map[string]uint64
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	return &queue{t: t, spool: on(900 * mib), when: map[string]uint64{}}
}

// reserve starts a job that holds its bytes until the returned function is called.
func (q *queue) reserve(namespace, name string, bytes int64) (release func()) {
	end := make(chan struct{})
	go func() {
		share, err := q.spool.Of(namespace).Reserve(q.t.Context(), bytes)
		if err != nil {
			return
		}
		q.mu.Lock()
		q.when[name] = share.admitted
		q.mu.Unlock()
		<-end
		share.Release()
	}()
	synctest.Wait()
	return func() { close(end); synctest.Wait() }
}

func (q *queue) runs(name string) bool { return slices.Contains(q.admitted(), name) }

// admitted returns the names in the order of their admission.
func (q *queue) admitted() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.SortedFunc(maps.Keys(q.when), func(a, b string) int { return cmp.Compare(q.when[a], q.when[b]) })
}

// A server of one namespace sent a byte every 29 s. The second snapshot of that namespace waited at the head of the queue, and the
// snapshots of all others behind it.
func TestANamespaceThatStallsDelaysNoOtherOne(t *testing.T) {
	for name, sizes := range map[string][]int64{
		"two large snapshots":                {10 * mib, 10 * mib},
		"a snapshot as large as possible":    {15 * mib, 15 * mib, 15 * mib},
		"many snapshots of half a namespace": {4 * mib, 4 * mib, 3 * mib, 3 * mib, 3 * mib, 3 * mib},
		"many small ones":                    slices.Repeat([]int64{mib / 2}, 100),
	} {
		for _, urgent := range []int64{0, 4 * mib} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := newQueue(t)
					q.spool.urgent = urgent
					var ends []func()
					for _, size := range sizes {
						ends = append(ends, q.reserve("stalls", "stalled", min(size, q.spool.Largest())))
					}
					begin := time.Now()
					share, err := q.spool.Of("other").Reserve(t.Context(), 1<<10)
					if err != nil {
						t.Fatal(err)
					}
					if waited := time.Since(begin); waited > 5*time.Second {
						t.Errorf("1 KiB of another namespace waited for %s", waited)
					}
					if got := q.spool.Of("stalls").Why(); got != turns.OwnShare {
						t.Errorf("the namespace waits because %q", got)
					}
					share.Release()
					for _, end := range ends {
						end()
					}
				})
			})
		}
	}
}

func TestSeveralSnapshotsOfANamespaceHoldAtMostHalfOfTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		ends := []func(){q.reserve("a", "a1", 5*mib), q.reserve("a", "a2", 5*mib), q.reserve("b", "b1", 7*mib)}
		if q.runs("a2") || !q.runs("b1") {
			t.Errorf("admitted %v of a spool whose half is 7.75 MiB", q.admitted())
		}
		for _, end := range ends {
			end()
		}
	})
}

// A snapshot that is larger than half of the spool must not wait forever, although there are always smaller ones.
func TestALargeSnapshotWaitsOnlyForThoseThatRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		ran := []func(){q.reserve("a", "a", 3*mib), q.reserve("b", "b", 3*mib)}
		large := q.reserve("large", "large", 12*mib)
		fits := q.reserve("c", "fits beside it", 3*mib)
		late := q.reserve("d", "does not", 3*mib)
		if q.runs("large") || !q.runs("fits beside it") || q.runs("does not") {
			t.Errorf("admitted %v", q.admitted())
		}
		if got := q.spool.Of("d").Why(); got != turns.Earlier {
			t.Errorf("it waits because %q", got)
		}
		for _, end := range ran {
			end()
		}
		if !q.runs("large") {
			t.Errorf("those that ran have ended, and the large snapshot still waits: %v", q.admitted())
		}
		large()
		fits()
		if !q.runs("does not") {
			t.Errorf("admitted %v in the end", q.admitted())
		}
		late()
	})
}

func TestNamespacesTakeTurnsInTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		all := q.reserve("first", "first", 15*mib)
		var ends []func()
		for _, name := range []string{"a1", "a2", "a3", "b1", "c1"} {
			ends = append(ends, q.reserve(name[:1], name, 3*mib))
		}
		all()
		if got := strings.Join(q.admitted()[1:4], " "); got != "a1 b1 c1" {
			t.Errorf("the first three are %s", got)
		}
		for _, end := range ends {
			end()
		}
		if used, _, waiting := q.spool.Usage(); used != 0 || waiting != 0 || len(q.spool.running) != 0 {
			t.Errorf("%d bytes are reserved and %d jobs wait in the end", used, waiting)
		}
	})
}

// A server announces little, and sends more.
func TestGrowingLeavesAPartToOtherNamespaces(t *testing.T) {
	s := on(900 * mib)
	first, err := s.Of("a").Reserve(t.Context(), mib)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Of("a").Reserve(t.Context(), mib)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Grow(7*mib, mib); !errors.Is(err, ErrFull) {
		t.Errorf("two snapshots of a namespace grow to 8 of 15.5 MiB: %v", err)
	}
	second.Release()
	if err := first.Grow(15*mib, mib); err != nil {
		t.Errorf("a snapshot that is alone in its namespace: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	other, err := s.Of("b").Reserve(ctx, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	other.Release()
	first.Release()
}

// A large snapshot waited for ever while small ones of its own namespace overlapped, and lost its place among other namespaces.
func TestALargeSnapshotIsNotOvertakenByLaterOnesOfItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		end := q.reserve("a", "small-0", 1*mib)
		large := q.reserve("a", "large", 10*mib)
		for i := 1; i <= 3; i++ {
			next := q.reserve("a", fmt.Sprintf("small-%d", i), 1*mib)
			end()
			end = next
		}
		if !q.runs("large") {
			t.Errorf("admitted %v, want the large snapshot before the later ones", q.admitted())
		}
		end()
		large()
	})
}

// An archiver that starts again has a few minutes until etcd compacts what it still needs.
func TestAnArchiverDoesNotWaitForTheSnapshotsOfItsNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		first, second := q.reserve("a", "first", 4*mib), q.reserve("a", "second", 3*mib)
		release, err := q.spool.Of("a").Hold(t.Context(), mib)
		if err != nil {
			t.Fatal(err)
		}
		release()
		first()
		second()
		if end := q.reserve("a", "large", 9*mib); !q.runs("large") {
			t.Error("a large snapshot was not admitted to an empty spool")
		} else {
			small := q.reserve("a", "beside", 2*mib)
			if !q.runs("beside") {
				t.Error("a snapshot waits for a large one of its namespace, although both fit")
			}
			small()
			end()
		}
	})
}

package objstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"
)

// stalling lists that many names at once, and after them one in each pause.
type stalling struct {
	Store
	names int
	pause time.Duration
}

func (s stalling) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for n := 0; ; n++ {
			if n >= s.names {
				select {
				case <-time.After(s.pause):
				case <-ctx.Done():
					yield(Object{}, ctx.Err())
					return
				}
			}
			if !yield(Object{Key: fmt.Sprintf("%s%0200d", prefix, n)}, nil) {
				return
			}
		}
	}
}

// Ten namespaces with listings of stores that stall held all of the memory for names, for two hours each time. No other namespace could restore a snapshot, or delete an
// old one.
func TestListingsThatStallReturnTheirMemoryIfOthersLackIt(t *testing.T) {
	for name, pause := range map[string]time.Duration{"a store that stalls": time.Hour, "a store that lists a name in 20 s": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			used, restore := ReplaceMemory(HeldMemory)
			defer restore()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 60)
				for n := range 60 {
					held, h := Hold(ctx, fmt.Sprint("hostile ", n))
					fits := 0
					for probe := HeldIn(held, MaxNames); fits < 400_000 && probe.Add(201) == nil; fits++ {
					}
					h.Release()
					store := Bounded(stalling{names: max(fits-1000, fits/2), pause: pause}, DefaultLimits)
					go func() {
						defer h.Release()
						var last error
						for _, err := range store.List(held, "k") {
							last = err
						}
						ended <- last
					}()
					synctest.Wait()
				}
				took, lists := time.Duration(0), func() error {
					held, h := Hold(ctx, "other")
					defer h.Release()
					names := HeldIn(held, MaxNames)
					for range 5000 {
						if err := names.Add(200); err != nil {
							return err
						}
					}
					return nil
				}
				began := time.Now()
				for err := lists(); err != nil && took < time.Hour; err = lists() {
					<-time.After(time.Second)
					took = time.Since(began)
				}
				if took > 2*time.Minute {
					t.Errorf("another namespace cannot list 5000 snapshots for %s, and %d MiB are in use", took, used()>>20)
				}
				stop()
				for range 60 {
					if err := <-ended; err == nil {
						t.Error("a listing has ended without an error")
					} else if errors.Is(err, ErrListing) {
						t.Errorf("it is no fault of the listing: %v", err)
					}
				}
			})
			if n := used(); n != 0 {
				t.Errorf("%d bytes are counted in the end", n)
			}
		})
	}
}

// A store that is slow, but lists, must not end for others: the deletion of old snapshots would never come to an end.
func TestAListingThatMovesReachesItsEndWhileOthersLackMemory(t *testing.T) {
	_, restore := ReplaceMemory(HeldMemory)
	defer restore()
	synctest.Test(t, func(t *testing.T) {
		held, h := Hold(t.Context(), "honest")
		defer h.Release()
		count := 0
		for _, err := range Bounded(stalling{pause: 8 * time.Millisecond}, DefaultLimits).List(held, "k") {
			if err != nil {
				t.Fatalf("after %d names: %v", count, err)
			}
			now := time.Now()
			lacking.Store(&now)
			if count++; count == 60_000 {
				break
			}
		}
	})
}

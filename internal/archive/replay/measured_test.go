package replay

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// far is a store that answers after a time.
type far time.Duration

func (f far) Get(context.Context, string) (io.ReadCloser, error) {
	<-time.After(time.Duration(f))
	return io.NopCloser(strings.NewReader("x")), nil
}

// crowded replays an order in the slot of a gate, while another namespace waits for the slot. Each segment has stored bytes in the store, and the
// process takes the time each for it. crowded returns for how long the slot was held.
func crowded(t *testing.T, gate *turns.Gate, store objstore.Getter, links []archive.Link, stored int64, each time.Duration) (held time.Duration, err error) {
	t.Helper()
	leave, err := gate.Enter(t.Context(), "ns")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if leave, err := gate.Enter(ctx, "other"); err == nil {
			leave()
		}
	}()
	synctest.Wait()
	defer leave()
	began := time.Now()
	err = gate.Limited(t.Context(), "ns", 0, func(ctx context.Context, a *turns.Allowance) error {
		o := Measured(Order{Store: store, Links: links}, a)
		for i, link := range links {
			body, err := o.Store.Get(ctx, link.Key)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, body); err != nil {
				return err
			}
			o.Progress(int64(i+1) * stored)
			select {
			case <-time.After(each):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return time.Since(began), err
}

func segments(count int, size int64) []archive.Link {
	links := make([]archive.Link, count)
	for i := range links {
		links[i].Header.Size = size
	}
	return links
}

// A restore of 8 GiB of changes would never succeed while others restore. It is tried again, and succeeds in the fourth attempt at the latest. A store
// that answers in 2 s is the slowest one that package pace allows while others wait.
func TestALongReplaySucceedsAlthoughOthersWait(t *testing.T) {
	for name, test := range map[string]struct {
		store  time.Duration
		count  int
		size   int64
		stored int64
		each   time.Duration
	}{
		"large segments":               {0, 1000, 8 << 20, 1 << 20, 7 * time.Second},
		"small segments":               {0, 20_000, 1 << 10, 1 << 10, 200 * time.Millisecond},
		"a store that answers in 2 s":  {2 * time.Second, 1000, 1 << 10, 1 << 10, 10 * time.Millisecond},
		"changes that compress well":   {0, 100, 8 << 20, 128 << 10, 7 * time.Second},
		"a segment without any change": {0, 10_000, 0, 300, 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := turns.NewGate(1)
				for n := 1; ; n++ {
					held, err := crowded(t, gate, far(test.store), segments(test.count, test.size), test.stored, test.each)
					if err == nil {
						return
					}
					if n == 4 || !errors.Is(err, turns.ErrOthersWaited) {
						t.Fatalf("attempt %d ended after %s: %v", n, held, err)
					}
				}
			})
		})
	}
}

// A segment of 1 KiB whose header states 256 GiB kept the slot of all replays for 72 hours.
func TestTheHeaderOfASegmentGivesAReplayNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held, err := crowded(t, turns.NewGate(1), far(0), segments(10, 1<<38), 1<<10, time.Hour)
		if !errors.Is(err, turns.ErrOthersWaited) || held > 2*time.Minute {
			t.Errorf("it ended after %s: %v", held, err)
		}
	})
}

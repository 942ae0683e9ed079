package ready

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// writePause is the pause between two writes.
	writePause = 10 * time.Millisecond
	// writeLimit is the timeout of a write.
	writeLimit = 10 * time.Second
)

// writer writes to etcd, one key after the other, and records the longest time without an acknowledged write.
type writer struct {
	end   context.CancelFunc
	ended sync.WaitGroup
	// One goroutine writes these fields; they are read after it ended.
	writes, failed int
	gap            gap
	// latencies are those of the acknowledged writes.
	latencies []time.Duration
}

// gap is a time without an acknowledged write.
type gap struct{ from, to time.Time }

func (g gap) length() time.Duration { return g.to.Sub(g.from) }

// startWriter writes until stop is called.
func startWriter(ctx context.Context, etcd *clientv3.Client) *writer {
	ctx, cancel := context.WithCancel(ctx)
	w := &writer{end: cancel}
	w.ended.Go(func() { w.run(ctx, etcd) })
	return w
}

// stop ends the writer. Its fields may be read afterwards.
func (w *writer) stop() {
	w.end()
	w.ended.Wait()
}

func (w *writer) run(ctx context.Context, etcd *clientv3.Client) {
	pause := time.NewTicker(writePause)
	defer pause.Stop()
	last := time.Now()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		began := time.Now()
		_, err := etcd.Put(limited, fmt.Sprintf("writer/%d", w.writes), "value")
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.writes++
		now := time.Now()
		if err != nil {
			w.failed++
		} else {
			if now.Sub(last) > w.gap.length() {
				w.gap = gap{last, now}
			}
			last = now
			w.latencies = append(w.latencies, now.Sub(began))
		}
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
	}
}

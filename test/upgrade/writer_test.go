package upgrade

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// writeInterval keeps the load of all clients together low.
	writeInterval = 200 * time.Millisecond
	// requestLimit is how long a write may take, with the client's own retries. A slower one counts as failed.
	requestLimit = 10 * time.Second
)

// A writer is a client that writes one key after another, as long as the operators are replaced.
type writer struct {
	etcd  *clientv3.Client
	stop  context.CancelFunc
	ended sync.WaitGroup

	mutex        sync.Mutex
	acknowledged []string
	revision     int64
	measured     measured
	last         time.Time
}

// measured is what a client measured since the last look.
type measured struct {
	writes, failed int
	longest        time.Duration // between two acknowledged writes
	failure        string        // the first one
}

// write starts a writer. It ends with the whole test, or before with end.
func (s *site) write() {
	s.Helper()
	ctx, stop := context.WithCancel(s.ctx)
	s.writer = &writer{etcd: s.etcd(), stop: stop, last: time.Now()}
	s.writer.ended.Go(func() { s.writer.run(ctx) })
}

func (w *writer) run(ctx context.Context) {
	defer w.etcd.Close()
	ticks := time.NewTicker(writeInterval)
	defer ticks.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		key := fmt.Sprintf("written-%06d", i)
		limited, cancel := context.WithTimeout(ctx, requestLimit)
		response, err := w.etcd.Put(limited, key, key)
		cancel()
		if ctx.Err() == nil {
			w.record(key, response, err)
		}
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
}

func (w *writer) record(key string, response *clientv3.PutResponse, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.measured.writes++
	if err != nil {
		w.measured.failed++
		if w.measured.failure == "" {
			w.measured.failure = err.Error()
		}
		return
	}
	w.acknowledged = append(w.acknowledged, key)
	w.revision = response.Header.Revision
	w.measured.longest = max(w.measured.longest, time.Since(w.last))
	w.last = time.Now()
}

// look returns what was measured since the last look.
func (w *writer) look() measured {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	found := w.measured
	found.longest = max(found.longest, time.Since(w.last))
	w.measured = measured{}
	return found
}

// until returns the number of acknowledged writes, and the revision of the last one.
func (w *writer) until() (count int, revision int64) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.acknowledged), w.revision
}

// end ends the writer.
func (w *writer) end() {
	w.stop()
	w.ended.Wait()
}

package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"

	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// errTooSlow is the cause of a context that limitReading has ended.
var errTooSlow = errors.New("reading the snapshot took too long")

// readLimit ends a reading that takes too long, so that a store which sends a byte now and then keeps no worker forever. The time does not
// count in which the reading waits for others.
type readLimit struct {
	stop func()
	end  context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	pauses int
	waited string // what does not count
}

// limitReading limits the search for the snapshot and its reading. It also ends transfers that hardly move. Others wait for the end of the
// reading if crowds returns true.
func limitReading(ctx context.Context, crowds func() bool) (context.Context, *readLimit) {
	ctx, end := context.WithCancelCause(ctx)
	ctx = pace.With(ctx, end, crowds)
	timer := time.AfterFunc(readBase, func() { end(errTooSlow) })
	return ctx, &readLimit{timer: timer, left: readBase, since: time.Now(), end: end, stop: func() { timer.Stop(); end(context.Canceled) }}
}

// begin starts the limit of a snapshot of that size.
func (l *readLimit) begin(size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left, l.since = min(readBase+time.Duration(size/readRate)*time.Second, readMost), time.Now()
	if l.pauses == 0 {
		l.timer.Reset(l.left)
	}
}

// pausing returns an Asked.Wait that stops the time during each wait.
func (l *readLimit) pausing(wait func(text func() string) (done func())) func(func() string) func() {
	return func(text func() string) func() {
		what, _, _ := strings.Cut(text(), ":")
		begin, done := time.Now(), func() {}
		if wait != nil {
			done = wait(text)
		}
		l.pause()
		return func() {
			l.resume(what, time.Since(begin))
			done()
		}
	}
}

func (l *readLimit) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses++; l.pauses == 1 {
		l.timer.Stop()
		l.left -= time.Since(l.since)
	}
}

func (l *readLimit) resume(what string, waited time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if waited >= time.Second {
		l.waited += fmt.Sprintf(" (the %s that it waited for %s do not count)", waited.Round(time.Second), what)
	}
	if l.pauses--; l.pauses == 0 {
		l.since = time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}

// waits returns for what the reading has waited, and how long. It is empty if it has not waited.
func (l *readLimit) waits() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waited
}

func newLargeKeys() *turns.Gate { return turns.NewGate(largePages) }

// largeKeys returns how a reading of a namespace waits for its turn. A turn takes half a minute at most, so the reading keeps its worker.
func (s Spool) largeKeys(namespace string) func(context.Context) (func(), error) {
	if s.large == nil {
		return nil
	}
	return func(ctx context.Context) (func(), error) { return s.large.Enter(turns.Stay(ctx), namespace) }
}

// largePages is how many large pages of keys, or large values, are read and written at the same time. Each takes two or three times 16 MiB meanwhile.
const largePages = 2

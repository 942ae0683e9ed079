// Package pace ends transfers that hardly move. A server that sends a byte now and then would otherwise hold a worker and space of an
// operator, which others wait for.
package pace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// Floor is the lowest average, in bytes per second. It is half a megabit: a slow link has more.
	Floor = 64 << 10
	// CrowdedFloor is that of a transfer for whose end others wait. It is half of the lowest maxBytesPerSecond, which an attempt may have.
	CrowdedFloor = 512 << 10
	// Window is the time over which the average is taken. An outage of the store or of the network that is shorter ends nothing.
	Window = 5 * time.Minute
)

// ErrTooSlow means that a transfer moved less than the floor during a window.
var ErrTooSlow = errors.New("the transfer is too slow")

// Meter compares one transfer with the floor. A nil Meter measures nothing.
type Meter struct {
	end     context.CancelCauseFunc
	crowded func() bool

	mu      sync.Mutex
	timer   *time.Timer
	at      int64
	before  int64 // at the begin of the window
	stopped bool
}

// Start measures a transfer until Stop is called. end is called once if the transfer is too slow. crowded returns whether others wait for the
// end of this transfer; it may be nil.
func Start(end context.CancelCauseFunc, crowded func() bool) *Meter {
	m := &Meter{end: end, crowded: crowded}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timer = time.AfterFunc(Window, m.look)
	return m
}

// At records how many bytes the transfer has moved since its start.
func (m *Meter) At(bytes int64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = max(m.at, bytes)
}

// Stop ends the measurement. It may be called twice.
func (m *Meter) Stop() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.timer.Stop()
}

func (m *Meter) look() {
	floor := int64(Floor)
	if m.crowded != nil && m.crowded() {
		floor = CrowdedFloor
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return
	}
	moved := m.at - m.before
	if moved < floor*int64(Window/time.Second) {
		m.stopped = true
		m.end(fmt.Errorf("%w: it moved %d KiB in %s, and the minimum is %d KiB a second", ErrTooSlow, moved>>10, Window, floor>>10))
		return
	}
	m.before = m.at
	m.timer.Reset(Window)
}

type key struct{}

type limit struct {
	end     context.CancelCauseFunc
	crowded func() bool
}

// With returns a context whose transfers are measured, see Measure and Body. end ends the work that reads them.
func With(ctx context.Context, end context.CancelCauseFunc, crowded func() bool) context.Context {
	return context.WithValue(ctx, key{}, limit{end, crowded})
}

// Measure starts to measure a transfer. The result is nil, and measures nothing, if the context is not from With.
func Measure(ctx context.Context) *Meter {
	l, measured := ctx.Value(key{}).(limit)
	if !measured {
		return nil
	}
	return Start(l.end, l.crowded)
}

// Body measures the transfer of a body from now until its end. It returns the body itself if the context is not from With.
func Body(ctx context.Context, body io.ReadCloser) io.ReadCloser {
	meter := Measure(ctx)
	if meter == nil {
		return body
	}
	return &measuredBody{ReadCloser: body, meter: meter}
}

type measuredBody struct {
	io.ReadCloser
	meter *Meter
	read  int64
}

func (b *measuredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if b.meter.At(b.read); err != nil {
		b.meter.Stop()
	}
	return n, err
}

func (b *measuredBody) Close() error {
	b.meter.Stop()
	return b.ReadCloser.Close()
}

package pace

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// limit is what ends a transfer, and whether others wait for its end.
type limit struct {
	end     context.CancelCauseFunc
	crowded func() bool // may be nil
}

func (l limit) isCrowded() bool { return l.crowded != nil && l.crowded() }

// meter compares what a server moves with the floor. Only the time counts for which the server is waited for: the operator may have work of
// its own meanwhile, for example the check of a database, or a retry from its disk.
type meter struct {
	limit

	mu      sync.Mutex
	timer   *time.Timer // runs while the server is waited for
	waits   int         // how many calls wait for the server now
	since   time.Time   // when the first of them began
	window  window
	begun   bool // the window has begun
	stopped bool
}

func newMeter(l limit) *meter {
	m := &meter{limit: l}
	m.timer = time.AfterFunc(Window, m.look)
	m.timer.Stop()
	return m
}

// wait starts the clock. Each wait needs a done. Several waits at the same time count once.
func (m *meter) wait() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begun {
		m.begun, m.window.crowded = true, m.isCrowded()
	}
	if m.waits++; m.waits == 1 && !m.stopped {
		m.since = time.Now()
		m.timer.Reset(Window - m.window.waited)
	}
}

// done ends a wait, during which so much was moved.
func (m *meter) done(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window.bytes += bytes
	if m.waits--; m.waits == 0 {
		m.timer.Stop()
		m.window.waited += time.Since(m.since)
	}
	m.judge()
}

// add records what was moved.
func (m *meter) add(bytes, objects int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window.bytes, m.window.objects = m.window.bytes+bytes, m.window.objects+objects
}

// stop ends the measurement.
func (m *meter) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	m.timer.Stop()
}

func (m *meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waits > 0 && !m.stopped {
		now := time.Now()
		m.window.waited, m.since = m.window.waited+now.Sub(m.since), now
		m.judge()
		m.timer.Reset(Window - m.window.waited)
	}
}

// judge ends the transfer if a window is over in which too little was moved. It needs m.mu.
func (m *meter) judge() {
	if m.stopped || m.window.waited < Window {
		return
	}
	crowded := m.isCrowded()
	if err := m.window.verdict(crowded); err != nil {
		m.stopped = true
		m.end(err)
	}
	m.window = window{crowded: crowded}
}

// window is what was moved during the last minutes of waiting.
type window struct {
	waited         time.Duration
	bytes, objects int64
	crowded        bool // others waited when it began
}

// verdict returns an error if too little was moved. The higher floor needs others who wait at the begin and at the end, because a transfer
// could not know of it before.
func (w window) verdict(crowded bool) error {
	floor, object := int64(Floor), int64(perObject)
	if w.crowded && crowded {
		floor, object = CrowdedFloor, perObjectCrowded
	}
	if w.bytes+w.objects*object >= floor*int64(Window/time.Second) {
		return nil
	}
	moved := fmt.Sprintf("%d KiB", w.bytes>>10)
	if w.objects > 0 {
		moved += fmt.Sprintf(" and %d requests, which count as %d KiB each,", w.objects, object>>10)
	}
	return fmt.Errorf("%w: it moved %s in %s, and the minimum is %d KiB a second", ErrTooSlow, moved, w.waited.Round(time.Second), floor>>10)
}

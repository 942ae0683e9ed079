package restore

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

const (
	// readingPatience is after how long a reading runs on without a worker, if another namespace waits for one.
	readingPatience = 5 * time.Minute
	// readingTurn is how long a reading has before it begins.
	readingTurn = time.Minute
)

// turn is for how long one reading keeps its place while others wait for a worker. It is a worker.Turn.
type turn struct {
	allowance atomic.Pointer[turns.Allowance] // nil until it begins
	stays     atomic.Bool
}

// claim has the limits of the reading, so that a store which sends slowly holds no worker for hours.
func (t *turn) claim() worker.Claim { return worker.Claim{Patience: readingPatience, Turn: t} }

// Once returns the time of each reading. It grows with what was read. A reading that writes keys continues.
func (t *turn) Once() time.Duration { return t.time((*turns.Allowance).Once) }

// Most returns the time of a reading that was extended.
func (t *turn) Most() time.Duration { return t.time((*turns.Allowance).Most) }

func (t *turn) time(of func(*turns.Allowance) time.Duration) time.Duration {
	a := t.allowance.Load()
	switch {
	case t.stays.Load():
		return math.MaxInt64
	case a == nil:
		return readingTurn
	}
	return of(a)
}

// Ended returns how often readings of the namespace have ended for others in a row.
func (t *turn) Ended() int {
	if a := t.allowance.Load(); a != nil {
		return a.Ended()
	}
	return 0
}

// Extend records that the reading was extended.
func (t *turn) Extend() {
	if a := t.allowance.Load(); a != nil {
		a.Extend()
	}
}

// reached records how much was read.
func (t *turn) reached(bytes int64) {
	if a := t.allowance.Load(); a != nil {
		a.Reach(bytes)
	}
}

// stay has the reading keep its place while it writes keys. It returns false if the reading ends for others.
func (t *turn) stay(ctx context.Context) bool {
	t.stays.Store(true)
	return ctx.Err() == nil
}

package dbcheck

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

const (
	// smallFile is the size of the largest file for which smallMemory is enough, whatever is in it.
	smallFile   = 8 << 20
	smallMemory = 64 << 20
	// minMemory is what the check of a database of usual size needs.
	minMemory = 96 << 20
	// ownShare of ownShares is what this process keeps of its memory.
	ownShare  = 3
	ownShares = 8
)

// turn lets one child run at a time, because each may use all of its memory.
type turn struct {
	slot    chan struct{}
	process Process
}

func newTurn(memory int64) turn { return turn{make(chan struct{}, 1), Process{memory}} }

func (t turn) inspect(ctx context.Context, path string) (dbfile.Info, error) {
	select {
	case t.slot <- struct{}{}:
	case <-ctx.Done():
		return dbfile.Info{}, context.Cause(ctx)
	}
	defer func() { <-t.slot }()
	return t.process.Inspect(ctx, path)
}

// turns are that of the small files and that of all others, so that a small file never waits for a large one.
var turns = sync.OnceValues(func() (small, large turn) {
	own, most := divide(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(own)
	if most == 0 {
		return newTurn(0), newTurn(0)
	}
	return newTurn(smallMemory), newTurn(most)
})

// divide divides the memory of a process (GOMEMLIMIT) between itself and the checks, and returns the limit of the check of a large
// file. Restore tests and replays have taken their memory off it before. Without a limit it limits nothing.
func divide(total int64) (own, large int64) {
	if total == math.MaxInt64 {
		return total, 0
	}
	own = total / ownShares * ownShare
	return own, max(total-own-smallMemory, minMemory)
}

// here replaces the child, see InThisProcess.
var here atomic.Bool

// InThisProcess checks the files of a test in its own process. Only a test with thousands of snapshots calls it, because the start of
// thousands of processes takes minutes.
func InThisProcess() { here.Store(true) }

// Inspect checks a file in a child process, which has a part of the memory of this process.
func Inspect(ctx context.Context, path string) (dbfile.Info, error) {
	if here.Load() {
		return dbfile.Inspect(path)
	}
	small, large := turns()
	if stat, err := os.Stat(path); err == nil && stat.Size() <= smallFile {
		return small.inspect(ctx, path)
	}
	return large.inspect(ctx, path)
}

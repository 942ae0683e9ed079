package dbcheck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// smallFile is the size of the largest file for which smallMemory is enough, whatever is in it.
	smallFile   = 8 << 20
	smallMemory = 64 << 20
	// usualFile is the size of the largest file that is checked beside larger ones. Its check takes seconds. usualMemory is enough for 2.5 million
	// keys.
	usualFile   = 256 << 20
	usualMemory = 64 << 20
	// minMemory is what the check of a database of usual size needs.
	minMemory = 96 << 20
	// ownShare of ownOf parts of its memory are what this process keeps for itself, if the checks of each size have what they need in the rest. Otherwise it keeps half or less. All budgets of an operator fit
	// into them, see TestTheBudgetsOfAnOperatorFitIntoItsContainer.
	ownShare, ownOf = 3, 5
)

// slot lets one child run at a time, because each may use all of its memory. Namespaces take turns.
type slot struct {
	gate    *turns.Gate
	process inspector
	memory  int64 // of one child
}

// inspector is a Process, except in tests.
type inspector interface {
	Inspect(ctx context.Context, path string) (dbfile.Info, error)
}

func newSlot(memory int64) slot { return slot{turns.NewGate(1), Process{memory}, memory} }

func (s slot) inspect(ctx context.Context, namespace, path string, size int64) (dbfile.Info, error) {
	var info dbfile.Info
	err := s.turn(ctx, namespace, size, func(ctx context.Context) (err error) {
		info, err = s.process.Inspect(ctx, path)
		return err
	})
	if err != nil {
		return dbfile.Info{}, err
	}
	return info, nil
}

// turn runs a child for a file of that many bytes when it is the turn of the namespace.
func (s slot) turn(ctx context.Context, namespace string, size int64, run func(context.Context) error) error {
	leave, err := s.gate.Enter(ctx, namespace)
	if err != nil {
		return err
	}
	defer leave()
	err = s.gate.Limited(ctx, namespace, size, func(ctx context.Context, _ *turns.Allowance) error { return run(ctx) })
	if errors.Is(err, turns.ErrOthersWaited) {
		return fmt.Errorf("%w: %w", dbfile.ErrNotChecked, err)
	}
	return err
}

// checks are the slots of the small files, of those of usual size, and of all others. A file never waits for the check of a larger class.
type checks struct{ small, usual, large slot }

func newChecks(memory division) checks {
	c := checks{small: newSlot(memory.small), large: newSlot(memory.large)}
	if c.usual = c.large; memory.separate {
		c.usual = newSlot(memory.usual)
	}
	return c
}

// inspect checks a file in the slot of its size. A file of usual size that needs more memory than usual is checked again with that of a large one.
func (c checks) inspect(ctx context.Context, namespace, path string) (dbfile.Info, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return dbfile.Info{}, fmt.Errorf("read the size of the snapshot: %w", err)
	}
	size := stat.Size()
	switch {
	case size <= smallFile:
		return c.small.inspect(ctx, namespace, path, size)
	case size <= usualFile:
		info, err := c.usual.inspect(ctx, namespace, path, size)
		if c.usual == c.large || !errors.Is(err, dbfile.ErrTooLarge) {
			return info, err
		}
	}
	return c.large.inspect(ctx, namespace, path, size)
}

// extract extracts keys of a file. Their number says nothing about the size of the file, so each one has the memory of a large one.
func (c checks) extract(ctx context.Context, namespace, path string, prefixes []string, values, index *os.File) error {
	stat, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the size of the snapshot: %w", err)
	}
	return c.large.turn(ctx, namespace, stat.Size(), func(ctx context.Context) error {
		return Process{c.large.memory}.Extract(ctx, path, prefixes, values, index)
	})
}

// shared are the checks of this process.
var shared = sync.OnceValue(func() checks {
	memory := divide(debug.SetMemoryLimit(-1))
	debug.SetMemoryLimit(memory.own)
	return newChecks(memory)
})

// division is the memory of a process and of its checks. 0 means no limit. Without separate, files of usual size are checked in the slot of the
// large ones.
type division struct {
	own, small, usual, large int64
	separate                 bool
}

// Own returns what a process with so much memory (GOMEMLIMIT) keeps of it for itself, beside its checks.
func Own(total int64) int64 { return divide(total).own }

// divide divides the memory of a process (GOMEMLIMIT) between itself and the checks. Restore tests and replays have taken their memory off it
// before. Without a limit it limits nothing.
func divide(total int64) division {
	if total == math.MaxInt64 {
		return division{own: total, separate: true}
	}
	half := min(total/2, max(total-smallMemory-minMemory, total/4))
	d := division{own: max(half, min(total/ownOf*ownShare, total-smallMemory-usualMemory-minMemory)), small: smallMemory, usual: usualMemory}
	d.large = max(total-d.own-d.small, minMemory)
	if d.separate = d.large-d.usual >= minMemory; d.separate {
		d.large -= d.usual
	}
	return d
}

// here replaces the child, see InThisProcess.
var here atomic.Bool

// InThisProcess checks the files of a test in its own process. Only a test with thousands of snapshots calls it, because the start of
// thousands of processes takes minutes.
func InThisProcess() { here.Store(true) }

// Inspect checks a file in a child process, which has a part of the memory of this process. It waits for the turn of the namespace.
func Inspect(ctx context.Context, namespace, path string) (dbfile.Info, error) {
	if here.Load() {
		return dbfile.Inspect(path)
	}
	return shared().inspect(ctx, namespace, path)
}

// Extract is dbfile.Extract in a child process, like Inspect.
func Extract(ctx context.Context, namespace, path string, prefixes []string, values, index *os.File) error {
	return shared().extract(ctx, namespace, path, prefixes, values, index)
}

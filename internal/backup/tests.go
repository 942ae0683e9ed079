package backup

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// tests limits the restore tests of this operator, those after a snapshot and those on a schedule.
type tests struct {
	slots  chan struct{}
	memory int64
	try    func(context.Context, dbfile.Trial) (dbfile.KVHash, error)
}

func newTests(limit int, memory int64, try func(context.Context, dbfile.Trial) (dbfile.KVHash, error)) tests {
	return tests{slots: make(chan struct{}, max(limit, 1)), memory: memory, try: try}
}

// enter waits until the attempt may run a restore test. The attempt calls done after it.
func (t tests) enter(ctx context.Context, progress *jobProgress) (done func(), err error) {
	resume := progress.waiting("waiting for other restore tests")
	defer resume()
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// minOperatorMemory is what the operator needs besides its restore tests.
const minOperatorMemory = 256 << 20

// openTests checks that the memory of the restore tests fits into that of the operator (GOMEMLIMIT), and leaves the rest to
// this process.
func openTests(o Options) (tests, error) {
	if o.MaxRestoreTests < 0 || o.RestoreTestMemory < 0 {
		return tests{}, fmt.Errorf("%d restore tests with %d bytes of memory: write numbers above 0", o.MaxRestoreTests, o.RestoreTestMemory)
	}
	limits := newTests(o.MaxRestoreTests, o.RestoreTestMemory, o.Try)
	total, all := debug.SetMemoryLimit(-1), int64(cap(limits.slots))*o.RestoreTestMemory
	if total == math.MaxInt64 || all == 0 {
		return limits, nil
	}
	if total-all < minOperatorMemory {
		const mib = 1 << 20
		return tests{}, fmt.Errorf("%d restore tests with %d MiB of memory do not fit into %d MiB. The operator itself needs %d MiB. "+
			"Raise backupOperator.resources.limits.memory or lower backupOperator.restoreTests.memory", cap(limits.slots), o.RestoreTestMemory/mib, total/mib, minOperatorMemory/mib)
	}
	debug.SetMemoryLimit(total - all)
	return limits, nil
}

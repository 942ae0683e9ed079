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

// minTestMemory is what a restore test of a small database needs.
const minTestMemory = 100 << 20

// openTests divides the memory of the operator (GOMEMLIMIT) between its restore tests and this process. If the memory that
// is asked for does not fit, the tests get less, and notice reports that.
func openTests(o Options) (limits tests, notice string, err error) {
	if o.MaxRestoreTests < 0 || o.RestoreTestMemory < 0 {
		return tests{}, "", fmt.Errorf("%d restore tests with %d bytes of memory: write numbers above 0", o.MaxRestoreTests, o.RestoreTestMemory)
	}
	const mib = 1 << 20
	count, memory, total := int64(max(o.MaxRestoreTests, 1)), o.RestoreTestMemory, debug.SetMemoryLimit(-1)
	if limited := total != math.MaxInt64 && memory > 0; limited {
		if left := (total - minOperatorMemory) / count; left < memory {
			notice = fmt.Sprintf("The memory of restore tests is %d MiB instead of %d MiB, because the operator has %d MiB and needs %d MiB itself. "+
				"Raise backupOperator.resources.limits.memory or lower backupOperator.restoreTests.memory.", left/mib, memory/mib, total/mib, minOperatorMemory/mib)
			memory = left
		}
		if memory < minTestMemory {
			return tests{}, "", fmt.Errorf("%d restore tests do not fit into %d MiB of memory. The operator needs %d MiB, and each test %d MiB or more. "+
				"Raise backupOperator.resources.limits.memory", count, total/mib, minOperatorMemory/mib, minTestMemory/mib)
		}
		debug.SetMemoryLimit(total - count*memory)
	}
	limits = newTests(o.MaxRestoreTests, memory, nil)
	if o.Try != nil {
		limits.try = func(ctx context.Context, t dbfile.Trial) (dbfile.KVHash, error) { return o.Try(ctx, t, memory) }
	}
	return limits, notice, nil
}

package queue

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

const (
	// minOperatorMemory is what the operator needs besides its restore tests.
	minOperatorMemory = 256 << 20
	// minTestMemory is what a restore test of a small database needs.
	minTestMemory = 100 << 20
)

// OpenTests divides the memory of the operator (GOMEMLIMIT) between its restore tests and this process. If the memory that
// is asked for does not fit, the tests get less, and notice reports that.
func OpenTests(o Options) (limits Tests, notice string, err error) {
	if o.MaxRestoreTests < 0 || o.RestoreTestMemory < 0 {
		return Tests{}, "", fmt.Errorf("%d restore tests with %d bytes of memory: write numbers above 0", o.MaxRestoreTests, o.RestoreTestMemory)
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
			return Tests{}, "", fmt.Errorf("%d restore tests do not fit into %d MiB of memory. The operator needs %d MiB, and each test %d MiB or more. "+
				"Raise backupOperator.resources.limits.memory", count, total/mib, minOperatorMemory/mib, minTestMemory/mib)
		}
		debug.SetMemoryLimit(total - count*memory)
	}
	try := func(ctx context.Context, t dbfile.Trial) (dbfile.KVHash, error) { return o.Try(ctx, t, memory) }
	return NewTests(o.MaxRestoreTests, memory, try), notice, nil
}

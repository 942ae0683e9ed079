package backup

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// tests limits the restore tests of this operator, those after a snapshot and those on a schedule. A test waits twice: before it reads the
// snapshot, and for the memory of its process. A server that stalls while a snapshot is read so holds no memory that others wait for.
type tests struct {
	reading   *turns.Gate
	processes *turns.Gate
	memory    int64
	try       func(context.Context, dbfile.Trial) (dbfile.KVHash, error)
}

// readers is how many restore tests read at the same time, if that many have memory. One namespace has one fewer.
func readers(limit int) int { return max(limit, 1) + 1 }

func newTests(limit int, memory int64, try func(context.Context, dbfile.Trial) (dbfile.KVHash, error)) tests {
	return tests{reading: turns.NewGate(readers(limit)), processes: turns.NewGate(limit), memory: memory, try: try}
}

// enter waits until the attempt may read a snapshot for a restore test. The attempt calls done after the test.
func (t tests) enter(ctx context.Context, namespace string, progress *jobProgress) (done func(), err error) {
	return pass(ctx, t.reading, namespace, progress)
}

// process waits until the attempt may start a process with the memory of a restore test. The attempt calls done after it.
func (t tests) process(ctx context.Context, namespace string, progress *jobProgress) (done func(), err error) {
	return pass(ctx, t.processes, namespace, progress)
}

func pass(ctx context.Context, gate *turns.Gate, namespace string, progress *jobProgress) (done func(), err error) {
	resume := progress.waiting("waiting for other restore tests", func() turns.Reason { return gate.Why(namespace) })
	defer resume()
	return gate.Enter(ctx, namespace)
}

// trial returns the function that restores a snapshot in a process of its own. The process ends if it computes for too long while others wait.
func (t tests) trial(namespace string, progress *jobProgress) func(context.Context, dbfile.Trial) (dbfile.KVHash, error) {
	return func(ctx context.Context, trial dbfile.Trial) (dbfile.KVHash, error) {
		done, err := t.process(ctx, namespace, progress)
		if err != nil {
			return dbfile.KVHash{}, err
		}
		defer done()
		progress.stage("restoring the snapshot")
		var hash dbfile.KVHash
		err = t.processes.Limited(ctx, namespace, sizeOfFile(trial.SnapshotPath), func(ctx context.Context, _ *turns.Allowance) (err error) {
			hash, err = t.try(ctx, trial)
			return err
		})
		return hash, err
	}
}

// sizeOfFile returns 0 for a file that cannot be read. Its reader returns the error.
func sizeOfFile(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
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
	try := func(ctx context.Context, t dbfile.Trial) (dbfile.KVHash, error) { return o.Try(ctx, t, memory) }
	return newTests(o.MaxRestoreTests, memory, try), notice, nil
}

package queue

import (
	"context"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Tests limits the restore tests of this operator, those after a snapshot and those on a schedule. A test waits twice: before it reads the
// snapshot, and for the memory of its process. A server that stalls while a snapshot is read so holds no memory that others wait for.
type Tests struct {
	reading   *turns.Gate
	Processes *turns.Gate
	Memory    int64
	Try       func(context.Context, dbfile.Trial) (dbfile.KVHash, error)
}

// readers is how many restore tests read at the same time, if that many have memory. One namespace has one fewer.
func readers(limit int) int { return max(limit, 1) + 1 }

// NewTests returns the slots for that many restore tests, each of which may use that much memory. try restores a snapshot.
func NewTests(limit int, memory int64, try func(context.Context, dbfile.Trial) (dbfile.KVHash, error)) Tests {
	return Tests{reading: turns.NewGate(readers(limit)), Processes: turns.NewGate(limit), Memory: memory, Try: try}
}

// Enter waits until the attempt may read a snapshot for a restore test. The attempt calls done after the test.
func (t Tests) Enter(ctx context.Context, namespace string, progress *Progress) (done func(), err error) {
	return pass(ctx, t.reading, namespace, progress)
}

// Process waits until the attempt may start a process with the memory of a restore test. The attempt calls done after it.
func (t Tests) Process(ctx context.Context, namespace string, progress *Progress) (done func(), err error) {
	return pass(ctx, t.Processes, namespace, progress)
}

func pass(ctx context.Context, gate *turns.Gate, namespace string, progress *Progress) (done func(), err error) {
	resume := progress.waiting("waiting for other restore tests", func() turns.Reason { return gate.Why(namespace) })
	defer resume()
	return gate.Enter(ctx, namespace)
}

// Trial returns the function that restores a snapshot in a process of its own. The process ends if it computes for too long while others wait.
func (t Tests) Trial(namespace string, progress *Progress) func(context.Context, dbfile.Trial) (dbfile.KVHash, error) {
	return func(ctx context.Context, trial dbfile.Trial) (dbfile.KVHash, error) {
		done, err := t.Process(ctx, namespace, progress)
		if err != nil {
			return dbfile.KVHash{}, err
		}
		defer done()
		progress.Stage("restoring the snapshot")
		var hash dbfile.KVHash
		err = t.Processes.Limited(ctx, namespace, sizeOfFile(trial.SnapshotPath), func(ctx context.Context, _ *turns.Allowance) (err error) {
			hash, err = t.Try(ctx, trial)
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

package archiving

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/dbcheck"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// archiveMemory is what an archiver always has: its connections, a response of the watch, the open segment, and 4,096 leases. copierMemory is that of the copier
	// of an archive, which has two stores open.
	archiveMemory, copierMemory = 1 << 20, 256 << 10
	// archivesPart is the part of the memory of this process that all archivers and copiers may have in this way. It limits their places.
	archivesPart = 7
	// sharedMemory is for what some of them need beside that for seconds: responses that are read ahead, and the leases of segments with many of them.
	sharedMemory = 16 << 20
	// encodingMemory is what the object of a segment takes while it is compressed and encrypted. usualEncodings are written at the same time, and one larger one.
	encodingMemory = 4 << 20
	usualEncodings = 3
	usualSegment   = 2 * limits.Segment
)

// sharedByArchives is one for the process, as each of these, because the process has one memory.
var sharedByArchives = turns.NewDividedBudget(sharedMemory)

var encodings, largeEncodings = turns.NewGate(usualEncodings), turns.NewGate(1)

// namespaceMemory is the memory of the archivers of a namespace.
type namespaceMemory string

// Take is that of archiver.Memory, as the other methods.
func (n namespaceMemory) Take(bytes int64) bool {
	return sharedByArchives.Take(string(n), bytes) == turns.None
}

// Return returns what was taken.
func (n namespaceMemory) Return(bytes int64) {
	if bytes > 0 {
		sharedByArchives.Return(string(n), bytes)
	}
}

// Encode waits for a turn. A segment with an extraordinary revision takes minutes, so it has a turn of its own.
func (n namespaceMemory) Encode(ctx context.Context, bytes int64) (func(), error) {
	if bytes > usualSegment {
		return largeEncodings.Enter(ctx, string(n))
	}
	return encodings.Enter(ctx, string(n))
}

// memoryPlaces returns how many archives, and copies of archives, have memory in a process with that limit (GOMEMLIMIT).
func memoryPlaces(limit int64) int64 {
	if limit == math.MaxInt64 {
		return math.MaxInt32
	}
	return max(dbcheck.Own(limit)/archivesPart/(archiveMemory+copierMemory), 1)
}

// changesMemory is what the large changes of all archives of this process take in memory. A change is in it until it is on the disk.
const changesMemory = 224 << 20

// changeWait is how long an archiver waits for it. An archiver that receives nothing for longer takes its member for one that is behind.
const changeWait = 20 * time.Second

// largeChanges is one for the process, because the process has one memory.
var largeChanges = turns.NewBudget(changesMemory)

// admitChange returns what admits the large changes of the archives of a namespace.
func admitChange(budget *turns.Budget, namespace string, wait time.Duration) func(context.Context, int64) (func(), error) {
	return func(ctx context.Context, bytes int64) (func(), error) {
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		release, err := budget.Wait(limited, namespace, bytes)
		if err == nil || ctx.Err() != nil {
			return release, err
		}
		why := budget.Why(namespace, bytes)
		if why == turns.None {
			why = turns.AllInUse
		}
		return nil, failure.New(v1beta2.ReasonRetrying, fmt.Sprintf("The archiver has stopped at a change that takes %d MiB of memory. All archives of backup-operator have %d MiB for large changes, of which one namespace may use %d MiB. "+
			"The change has waited for %s: %s. The archiver starts again.", bytes>>20, changesMemory>>20, budget.Most()>>20, wait, why))
	}
}

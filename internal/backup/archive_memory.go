package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// changesMemory is what the large changes of all archives of this process take in memory. A change is in it until it is on the disk.
	changesMemory = 256 << 20
	// changeWait is how long an archiver waits for it. An archiver that receives nothing for longer takes its member for one that is behind.
	changeWait = 20 * time.Second
)

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
		return nil, fail(v1beta2.ReasonRetrying, fmt.Sprintf("The archiver has stopped at a change that takes %d MiB of memory. All archives of backup-operator have %d MiB for large changes, of which one namespace may use %d MiB. "+
			"The change has waited for %s: %s. The archiver starts again.", bytes>>20, changesMemory>>20, budget.Most()>>20, wait, why))
	}
}

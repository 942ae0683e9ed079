package archiving

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (

	// archiveOthers is the part of the places that one namespace leaves to others. An archiver holds its place for months, so a namespace
	// that asks later would wait as long. It is a part of what the others do not use, so that each further namespace finds a place.
	archiveOthers = 8
)

// archivePlaces counts the archivers that have space in the spool.
type archivePlaces struct {
	mu    sync.Mutex
	order turns.Order
	taken int64
}

// take takes one of so many places, or returns why there is none.
func (p *archivePlaces) take(namespace string, places int64) turns.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.order.Held(namespace)
	free := places - (p.taken - own) // of other namespaces
	switch {
	case p.taken >= places:
		return turns.AllInUse
	case own >= max(free-(free+archiveOthers-1)/archiveOthers, 1):
		return turns.OwnShare
	}
	p.taken++
	p.order.Take(namespace, 1)
	return turns.None
}

func (p *archivePlaces) leave(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.order.Return(namespace, 1)
}

func (p *archivePlaces) count() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// changesMemory is what the large changes of all archives of this process take in memory. A change is in it until it is on the disk.
const changesMemory = 256 << 20

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

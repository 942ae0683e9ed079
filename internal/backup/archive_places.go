package backup

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// archiveShare is the part of the spool that all archivers may use together, so that snapshots always have room.
	archiveShare = 4
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

// extra returns what makes room for an archiver that needs more than its place: one revision is never divided, however large it is. The caller
// calls end once.
func (t *archiveJob) extra(namespace string) (grow func(bytes, written int64) error, end func()) {
	share := t.spool.Of(namespace).Extra()
	return func(bytes, written int64) error {
		return share.Resize(max(bytes-archiveSpool, 0), max(written-archiveSpool, 0))
	}, share.Release
}

// reserve reserves the space of one archiver until the returned function is called. All of them together get a part of the
// spool.
func (t *archiveJob) reserve(ctx context.Context, namespace string) (func(), error) {
	if limit := t.spool.Largest(); limit > 0 {
		whole := limit + t.places.count()*archiveSpool
		places := whole / archiveShare / archiveSpool
		if why := t.places.take(namespace, places); why != turns.None {
			return nil, fmt.Errorf("%w for another archiver: there are %d places, a quarter of %d MiB with %d MiB each, and %s",
				spool.ErrTooSmall, places, whole>>20, archiveSpool>>20, why)
		}
	} else {
		t.places.take(namespace, math.MaxInt32)
	}
	release, err := t.spool.Of(namespace).Hold(ctx, archiveSpool)
	if err != nil {
		t.places.leave(namespace)
		return nil, err
	}
	return func() { release(); t.places.leave(namespace) }, nil
}

package limits

import (
	"cmp"
	"fmt"
	"math"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// Share is the part of the spool that all archivers may use together, so that snapshots always have room.
	Share = 4
	// Spool is the space in bytes that one archiver reserves in the spool. A part of it may wait for the store, and the rest is for the segments that are
	// being written.
	Spool = 40 << 20
	// others is the part of the places that one namespace leaves to others. An archiver holds its place for months, so a namespace
	// that asks later would wait as long. It is a part of what the others do not use, so that each further namespace finds a place.
	others = 8
)

// Places are those of the archivers, and as many for the copiers, so that each archive can be copied.
type Places struct {
	spool *spool.Spool // nil if it has no limit
	// inMemory is how many archives have memory; 0 for no limit.
	inMemory         int64
	archives, copies taken
}

// NewPlaces returns places in a spool, which may be nil, of a process that has memory for so many archives; 0 for no limit.
func NewPlaces(s *spool.Spool, inMemory int64) *Places {
	return &Places{spool: s, inMemory: inMemory}
}

// TakeArchive takes a place for an archiver of a namespace. The caller calls leave once. The error is spool.ErrTooSmall if there is no place.
func (p *Places) TakeArchive(namespace string) (leave func(), err error) {
	return p.take(&p.archives, namespace, "archiver")
}

// TakeCopy takes a place for a copier, as TakeArchive does for an archiver.
func (p *Places) TakeCopy(namespace string) (leave func(), err error) {
	return p.take(&p.copies, namespace, "copy of an archive")
}

// Archives is how many archivers have a place.
func (p *Places) Archives() int64 { return p.archives.count() }

// Copies is how many copiers have a place.
func (p *Places) Copies() int64 { return p.copies.count() }

// take takes a place for what it names.
func (p *Places) take(among *taken, namespace, what string) (leave func(), err error) {
	limit := int64(0)
	if p.spool != nil {
		limit = p.spool.Largest()
	}
	memory := cmp.Or(p.inMemory, math.MaxInt32)
	whole := limit + p.archives.count()*Spool
	places := whole / Share / Spool
	if limit <= 0 || memory < places {
		if why := among.take(namespace, memory); why != turns.None {
			return nil, fmt.Errorf("%w for another %s: there are %d places, for which the memory of the operator suffices (backupOperator.resources.limits.memory in the values of the chart), and %s", spool.ErrTooSmall, what, memory, why)
		}
	} else if why := among.take(namespace, places); why != turns.None {
		return nil, fmt.Errorf("%w for another %s: there are %d places, a quarter of %d MiB with %d MiB each, and %s", spool.ErrTooSmall, what, places, whole>>20, Spool>>20, why)
	}
	return func() { among.leave(namespace) }, nil
}

// taken counts the places of one kind that are taken.
type taken struct {
	mu    sync.Mutex
	order turns.Order
	all   int64
}

// take takes one of so many places, or returns why there is none.
func (t *taken) take(namespace string, places int64) turns.Reason {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.order.Held(namespace)
	free := places - (t.all - own) // of other namespaces
	switch {
	case t.all >= places:
		return turns.AllInUse
	case own >= max(free-(free+others-1)/others, 1):
		return turns.OwnShare
	}
	t.all++
	t.order.Take(namespace, 1)
	return turns.None
}

func (t *taken) leave(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all--
	t.order.Return(namespace, 1)
}

func (t *taken) count() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

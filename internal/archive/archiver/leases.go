package archiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/panics"
)

const (
	leaseReaders = 8                // concurrent requests
	leaseTimeout = 2 * time.Second  // for one request
	maxLeases    = 64 << 10         // that are remembered
	leasesStep   = 2 << 10          // that are always remembered, and that are added at a time. A revision may have twice as many
	leaseBytes   = 128              // of a lease that is remembered
	maxWaiting   = 4 * leaseReaders // more make the watch wait
)

// leases reads the TTL of each lease when its ID is first seen. A watch does not send leases.
type leases struct {
	cluster   Cluster
	clusterID uint64
	slots     chan struct{} // of those that wait or read
	readers   chan struct{}
	group     sync.WaitGroup
	memory    Memory // for more than leasesStep
	taken     int64  // of it
	most      int    // leases that fit into what is taken
	seen      map[int64]struct{}
	fresh     int // that were seen first since the last segment

	mu      sync.Mutex
	found   []archive.Lease // since the last segment
	failed  []int64         // that could not be read since the last segment
	unknown int64
}

func newLeases(cluster Cluster, clusterID uint64, memory Memory) *leases {
	return &leases{memory: memory, most: leasesStep, cluster: cluster, clusterID: clusterID, slots: make(chan struct{}, maxWaiting), readers: make(chan struct{}, leaseReaders), seen: map[int64]struct{}{}}
}

// errLeases ends an archiver. A transaction of etcd has 128 operations by default, so one revision has as many leases at most.
var errLeases = fmt.Errorf("one revision of etcd has keys with more than %d leases, and the archiver holds no more in memory", maxLeases)

// errLeasesMemory ends an archiver, which is then tried again.
var errLeasesMemory = fmt.Errorf("one revision of etcd has keys with more than %d leases, and other archives use the memory for more of them", 2*leasesStep)

// many reports whether a segment has as many leases as one should have.
func (l *leases) many() bool { return l.fresh >= l.most }

// grow takes memory for more leases, if there is some. One more revision may then have twice as many as before.
func (l *leases) grow() {
	if l.most < maxLeases && l.memory.Take(2*leasesStep*leaseBytes) {
		l.taken, l.most = l.taken+2*leasesStep*leaseBytes, l.most+leasesStep
	}
}

// drop returns the memory for more leases than are always remembered.
func (l *leases) drop() {
	l.memory.Return(l.taken)
	l.taken, l.most = 0, leasesStep
}

// see starts to read a lease that was not seen before. It waits if too many are being read.
func (l *leases) see(ctx context.Context, id int64) error {
	if _, known := l.seen[id]; known || id == 0 {
		return nil
	}
	if l.fresh++; l.fresh > 2*maxLeases { // the segment is sealed at half of that, after the revision
		return errLeases
	}
	if l.fresh >= l.most {
		l.grow()
	}
	if l.fresh > 2*l.most {
		return errLeasesMemory
	}
	if len(l.seen) >= l.most {
		clear(l.seen) // to read a lease twice is harmless
	}
	l.seen[id] = struct{}{}
	l.slots <- struct{}{}
	l.group.Go(panics.Caught(func() {
		defer func() { <-l.slots }()
		l.readers <- struct{}{}
		defer func() { <-l.readers }()
		l.read(ctx, id)
	}, func(err error) { l.fail(id, err) }))
	return nil
}

func (l *leases) read(ctx context.Context, id int64) {
	var ttl int64
	var err error
	for range 2 {
		limited, cancel := context.WithTimeout(ctx, leaseTimeout)
		ttl, err = l.cluster.TTL(limited, l.clusterID, id)
		cancel()
		if err == nil || errors.Is(err, ErrNoLease) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		l.fail(id, err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, archive.Lease{ID: id, TTL: ttl})
}

// fail counts a lease whose TTL could not be read.
func (l *leases) fail(id int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unknown++; !errors.Is(err, ErrNoLease) {
		l.failed = append(l.failed, id)
	}
}

// take waits for all that are being read, and returns those since the last call. A lease that could not be read, for example during an
// election, is read again when it is seen again.
func (l *leases) take() (found []archive.Lease, unknown int64) {
	l.group.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	found, l.found = l.found, nil
	for _, id := range l.failed {
		delete(l.seen, id)
	}
	l.failed, l.fresh = nil, 0
	if l.most > leasesStep {
		l.seen = map[int64]struct{}{}
		l.drop()
	}
	return found, l.unknown
}

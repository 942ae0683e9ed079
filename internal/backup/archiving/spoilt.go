package archiving

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// spoilt are the newest snapshots of an archive, if they failed their restore tests. The archive has no proof until a snapshot passes.
type spoilt struct {
	count  int32
	newest string // its key
}

// spoiltOf counts the newest snapshots of an EtcdBackup that failed, up to one that did not. A snapshot whose manifest was not read ends the count,
// and a cluster with another ID does not count. Neither does one from the future, which a clock that was ahead has named.
func spoiltOf(o state.JobSpec, clusterID string, index catalog.Index, known catalog.Known, now time.Time) (s spoilt) {
	for _, item := range index.Items {
		reading, read := known[item.Key]
		if item.Future(now) {
			continue
		}
		if m := reading.Manifest; read && (m.Backup != o.Name || m.Cluster.ID != clusterID || !o.Owns(item.Key, m)) {
			continue
		}
		if !read || item.Verdict != snapshot.Failed {
			break
		}
		if s.count++; s.count == 1 {
			s.newest = item.Key
		}
	}
	return s
}

// follow returns when the next snapshot replaces them. It is zero if there is nothing to replace. The first one is replaced at once, and later
// ones after 1 min, doubled after each one, at most 6 h. That counts from when they were seen, because the clock of the store may differ.
func (s spoilt) follow(before spoilt, due, now time.Time) time.Time {
	switch {
	case s.count == 0:
		return time.Time{}
	case s.newest == before.newest && !due.IsZero():
		return due
	case s.count == 1:
		return now
	}
	return now.Add(plan.TestDelay(s.count - 1))
}

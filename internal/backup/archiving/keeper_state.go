package archiving

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// keeper looks after the archive of a running archiver: it finds out what can be restored, and deletes what no target in the
// window needs. It only asks the store after a new snapshot, a failed restore test, a deletion, a gap, or a new timeline.
type keeper struct {
	*Archiver
	job     *runner
	store   objstore.Store
	running *archiver.Archiver
	advice  string
	began   time.Time
	end     func(error) // ends this run of the archiver

	known    catalog.Known
	held     *objstore.Holding // counts known, and what is outdated
	survey   archive.Survey
	surveyed bool
	before   archiver.Status // at the last look
	counted  archiver.Status // in the metrics
	next     time.Time       // when a failed survey or deletion is repeated
	again    time.Time       // when a survey is repeated that could not read a start; zero if it could
	outdated []string
	// later are outdated, too. more means that the archive has more than these, and first is the first of them.
	later []archive.Name
	more  bool
	first string
	// selections are those of the EtcdRestores that were waiting when outdated was found.
	selections []clients.Selection
	base       int64 // revision of the newest base of the timeline
	shape      shape
	reported   reported
	asked      map[string]time.Time // by reason
	seen       archiver.Status      // when the survey was made
	window     time.Duration        // for which outdated was found
	spoilt     spoilt
	// replaceAt is when another snapshot replaces the spoilt ones; zero if there are none.
	replaceAt time.Time
	vain      bool // a new snapshot could not be read: one that is as new is cold
	disproven bool // a proof has failed, as the store says
	pruned    bool // all that was outdated after the last news is deleted
}

// shape is the part of the view whose changes are reported at once. All else waits for the next minute, and the end of the archive for plan.Pace.
type shape struct {
	begun, covered, delayed, failing bool
	unpruned, unread, holes          string
	ranges                           int
	timeline                         archive.Timeline
	reached                          int64 // the newest base that a range reaches: a proof may be due
	replace                          time.Time
}

// reported is the end of the archive that the controller was last notified of.
type reported struct {
	timeline archive.Timeline
	from     int64 // the first revision of that range
	end      archive.Point
	at       time.Time
}

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

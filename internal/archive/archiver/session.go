package archiver

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

// sight is a revision of the cluster, read linearizably: when all revisions up to it are stored, nothing that was acknowledged before that
// time can be lost. A watch does not tell that, because its member may be behind the others.
type sight struct {
	revision int64
	at       time.Time
	auth     auth.State // at that time or later
	err      error      // what ends the session: reading it panicked
}

// Archiver archives one cluster. Only one Run may be under way.
type Archiver struct {
	Options
	clusterID uint64
	compacted int64 // the newest known compact revision
	began     sight // of the cluster when the run began

	mu     sync.Mutex
	status Status
	sights []sight // that are not stored yet, oldest first
}

// Status may be called at any time.
func (a *Archiver) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

func (a *Archiver) update(change func(*Status)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.status)
}

func ignoreEnd(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

var errCompacted = errors.New("etcd is compacted beyond what is archived")

// session is one watch.
type session struct {
	a       *Archiver
	stream  Stream
	uploads *uploader
	leases  *leases
	chain   archive.Chain // with all sealed segments
	open    *open         // nil between segments
	auth    auth.State
	covered auth.State // of the end of the chain, or of a base at it
	begun   int64      // the last revision that was archived before
	missed  int64      // up to which revision etcd may have acknowledged changes long before they are received; 0 once they are sealed
	asked   time.Time  // when the revision of the cluster was read; zero once a segment was opened
	partial bool       // the last revision may not be complete
	verify  bool       // the next events are those of begun, to be compared
	tail    archive.TailOf
	base    chan taken // the base that is being taken after a change of users, roles or authentication; nil if there is none
	again   bool       // they have changed since then
	room    int64      // in the spool that was reserved
	sights  chan sight
	looking bool      // a sight is being read
	late    sight     // the first one that the watch has not reached since it returned something
	touched time.Time // when the watch returned something

	responses <-chan received // of the watch; nil after the session has ended
	wanted    chan struct{}   // has an element for each response that is requested
	reading   bool            // one is requested
	ahead     []received      // responses that were read and not handled yet, for example while the session waited for the state of authentication
	ended     bool            // the watch has ended, as the last one of them says
	silent    error           // why the members did not answer after that
}

// taken is a base, or why it was not taken.
type taken struct {
	Base
	err error
}

// uploader stores sealed segments one after the other, each until the store has it. It never gives up: the spool is on
// disk, and the watch waits when the spool is full.
type uploader struct {
	a     *Archiver
	queue chan *sealed
	done  chan struct{}
	err   error // valid when done is closed
	// cancel ends the uploads.
	cancel context.CancelFunc

	mu      sync.Mutex
	waiting int64         // bytes
	freed   chan struct{} // has an element after each upload
}

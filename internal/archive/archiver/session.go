package archiver

import (
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
)

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
	bases   authBases
	begun   int64     // the last revision that was archived before
	missed  int64     // up to which revision etcd may have acknowledged changes long before they are received; 0 once they are sealed
	asked   time.Time // when the revision of the cluster was read; zero once a segment was opened
	partial bool      // the last revision may not be complete
	verify  bool      // the next events are those of begun, to be compared
	tail    archive.TailOf
	room    room
	sights  chan sight
	looking bool      // a sight is being read
	late    sight     // the first one that the watch has not reached since it returned something
	touched time.Time // when the watch returned something

	inbox
	silent error // why the members did not answer after the watch has ended
}

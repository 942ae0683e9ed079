package archiver

import (
	"context"
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/panics"
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

	responses <-chan received // of the watch; nil after the session has ended
	wanted    chan struct{}   // has an element for each response that is requested
	reading   bool            // one is requested
	ahead     []received      // responses that were read and not handled yet, for example while the session waited for the state of authentication
	ended     bool            // the watch has ended, as the last one of them says
	silent    error           // why the members did not answer after that
}

type received struct {
	Response
	err error
}

// reader reads the stream in the background, one response for each element of wanted. What the session has no place for is not read.
func (s *session) reader(ctx context.Context, wanted <-chan struct{}) <-chan received {
	responses := make(chan received)
	go panics.Caught(func() {
		for {
			select {
			case <-wanted:
			case <-ctx.Done():
				return
			}
			response, err := s.stream.Receive()
			select {
			case responses <- received{response, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}, func(err error) {
		select {
		case responses <- received{err: err}:
		case <-ctx.Done():
		}
	})()
	return responses
}

package spool

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/panics"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

const (
	// urgentBase and urgentRate are for how long an urgent job keeps its space while urgent jobs of other namespaces wait for it: a minute, and the time
	// for its bytes at 8 MiB a second.
	urgentBase = time.Minute
	urgentRate = 8 << 20
	// urgentTurn limits that time. It is half of the 14 minutes of a safety snapshot, so that one which waited still has the other half.
	urgentTurn = 7 * time.Minute
	// lately is for how long a namespace counts as one that has had space for an urgent job.
	lately = time.Hour
	// giveWayEvery is how often a job asks whether it has to give way, after the first minute.
	giveWayEvery = 5 * time.Second
)

// EndForOthers ends a job with urgent space when it has to give way: its time is over, urgent jobs of another namespace wait for space, and they wait for
// no other namespace that holds more. The cause is turns.ErrOthersWaited. It stops when ctx ends. It does nothing for a share that is not urgent.
func (h *Share) EndForOthers(ctx context.Context, end context.CancelCauseFunc) {
	if h == nil || !h.urgent { // without a limit, no request waits for space of another job
		return
	}
	go panics.Caught(func() {
		for next := urgentBase; h.spool.keeps(h); next = giveWayEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(next):
			}
		}
		end(fmt.Errorf("%w, and this held space on the spool volume for longer than it may while another safety snapshot waits", turns.ErrOthersWaited))
	}, end)()
}

// keeps returns whether a job need not give way.
func (s *Spool) keeps(h *Share) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.running[h] || time.Since(h.since) < h.turn() || !slices.ContainsFunc(s.queue, func(r *request) bool { return s.isHeldUpBy(r, h) && !s.holdsMore(r, h) })
}

func (h *Share) turn() time.Duration {
	return min(urgentBase+time.Duration(h.bytes/urgentRate)*time.Second, urgentTurn)
}

// holdsMore returns whether a request waits for another namespace that holds more than that of h, or as much for longer. That one gives way first, so that
// a slow small job does not end for fast large ones. Jobs that have overtaken the request do not count, because it fits beside them: their turn is over
// long after the request has no time left.
func (s *Spool) holdsMore(r *request, h *Share) bool {
	held := map[string]int64{}
	for share := range s.running {
		if share.urgent && !r.isOvertakenBy(share) {
			held[share.namespace] += share.bytes
		}
	}
	for other := range s.running {
		more, own := held[other.namespace], held[h.namespace]
		if other.urgent && !r.isOvertakenBy(other) && other.namespace != h.namespace && (more > own || more == own && other.admitted < h.admitted) {
			return true
		}
	}
	return false
}

// isHeldUpBy returns whether a request waits only because of urgent jobs of others, and would hold no more than the namespace of h. Of two large ones, the
// first would have to end for the second, which then has too little time: neither would be taken. So a large request ends only a job of a namespace that
// has had space for another one lately.
func (s *Spool) isHeldUpBy(r *request, h *Share) bool {
	if !r.urgent || r.namespace == h.namespace || r.place == 0 || r.why == turns.OwnShare {
		return false
	}
	own := s.urgently.Held(r.namespace)
	if s.large(r.claim()) && !h.again {
		return false
	}
	return own+r.bytes <= s.urgently.Held(h.namespace) && s.used-s.urgents+own+r.bytes <= s.openTo(r)
}

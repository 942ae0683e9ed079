package spool

import (
	"context"
	"fmt"
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
	// readingGives is how often the readings of a namespace end for urgent jobs of one other namespace within giftsLast, and readingGivesAll for those of
	// all. Without that, a namespace could keep a long reading of another one from ever reaching its end.
	readingGives, readingGivesAll = 3, 12
	giftsLast                     = 24 * time.Hour
	// giveWayEvery is how often a job asks whether it has to give way, after the first minute.
	giveWayEvery = 5 * time.Second
)

// EndForOthers ends a job when it has to give way: its time is over, urgent jobs of another namespace wait for space, and they wait for no other
// namespace that holds more. A job that is not urgent gives way to large urgent ones only, because small ones have a part of their own. The cause is
// turns.ErrOthersWaited. It stops when ctx ends.
func (h *Share) EndForOthers(ctx context.Context, end context.CancelCauseFunc) {
	if h == nil { // there is nothing to give
		return
	}
	before := turns.WaitedFor(ctx)
	go panics.Caught(func() {
		for next := urgentBase; h.spool.keeps(h, turns.WaitedFor(ctx)-before); next = giveWayEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(next):
			}
		}
		end(fmt.Errorf("%w, and this held space on the spool volume for longer than it may while a safety snapshot of another one waits", turns.ErrOthersWaited))
	}, end)()
}

// keeps returns whether a job need not give way. waited is for how long it has waited in a turns.Gate since it was admitted: others decide that.
func (s *Spool) keeps(h *Share, waited time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running[h] || h.stays || time.Since(h.since) < h.turn(waited) {
		return true
	}
	for _, r := range s.queue {
		switch {
		case h.urgent && s.isHeldUpBy(r, h) && !s.holdsMore(r, h):
			h.gave = true
			return false
		case !h.urgent && s.isHeldUpByReading(r, h) && !s.spares(h.namespace, r) && !s.holdsMore(r, h):
			s.give(h, r)
			h.gave = true
			return false
		}
	}
	return true
}

// Keep has the job keep its space from now on, because it must not end in the middle of what it does next. It returns false if the job has to give way
// already.
func (h *Share) Keep() bool {
	if h == nil {
		return true
	}
	h.spool.mu.Lock()
	defer h.spool.mu.Unlock()
	h.stays = !h.gave
	return h.stays
}

func (h *Share) turn(waited time.Duration) time.Duration {
	return min(urgentBase+time.Duration(h.bytes/urgentRate)*time.Second+waited, urgentTurn)
}

// holdsMore returns whether a request waits for another namespace that holds more than that of h, or as much for longer. That one gives way first, so that
// a slow small job does not end for fast large ones.
func (s *Spool) holdsMore(r *request, h *Share) bool {
	held := map[string]int64{}
	for share := range s.running {
		if share.urgent == h.urgent && s.mayGive(share, r) {
			held[share.namespace] += share.bytes
		}
	}
	for other := range s.running {
		more, own := held[other.namespace], held[h.namespace]
		if other.urgent == h.urgent && s.mayGive(other, r) && other.namespace != h.namespace && (more > own || more == own && other.admitted < h.admitted) {
			return true
		}
	}
	return false
}

// mayGive returns whether a job gives way to a request once its turn is over. Jobs that have overtaken the request do not, because it fits beside them: their
// turn is over long after the request has no time left.
func (s *Spool) mayGive(h *Share, r *request) bool {
	if h.stays || r.isOvertakenBy(h) {
		return false
	}
	if h.urgent {
		return s.isHeldUpBy(r, h)
	}
	return !s.spares(h.namespace, r)
}

// isHeldUpBy returns whether a request waits only because of urgent jobs of others, and would hold no more than the namespace of h. Of two large ones, the
// first would have to end for the second, which then has too little time: neither would be taken. So a large request ends only a job of a namespace that
// has had space for another one lately.
func (s *Spool) isHeldUpBy(r *request, h *Share) bool {
	if !r.urgent || r.namespace == h.namespace || r.place == 0 || r.why == turns.OwnShare {
		return false
	}
	own, large := s.urgently.Held(r.namespace), s.large(r.claim())
	if large && !h.again {
		return false
	}
	turn := own+r.bytes <= s.urgently.Held(h.namespace) || !large && h.again && !s.hadUrgent(r.namespace)
	return turn && s.used-s.urgents+own+r.bytes <= s.openTo(r)
}

// isHeldUpByReading returns whether a large urgent request waits only because of jobs that are not urgent, and that give way to it.
func (s *Spool) isHeldUpByReading(r *request, h *Share) bool {
	return r.urgent && r.namespace != h.namespace && r.place > 0 && r.why != turns.OwnShare && s.large(r.claim()) && !r.isOvertakenBy(h) &&
		s.urgents+s.stay(r)+r.bytes <= min(s.openTo(r)+s.smallUrgents(r.namespace), s.total)
}

// stay returns what the jobs hold that are not urgent, and that give no space to a request. If it does not fit beside them, no other one ends for it.
func (s *Spool) stay(r *request) (bytes int64) {
	for share := range s.running {
		if !share.urgent && (share.stays || share.namespace == r.namespace || r.isOvertakenBy(share) || s.spares(share.namespace, r)) {
			bytes += share.bytes
		}
	}
	return bytes
}

// gift is that readings of a namespace have ended for an urgent request of another one. All that end for one request are one gift.
type gift struct {
	from    string
	request *request
	at      time.Time
}

// spares returns whether the readings of a namespace have ended often enough for others, so that they need not end for a request. What they gave to one other
// namespace counts until a day has passed since the last of that: so a reading of many hours reaches its end, too.
func (s *Spool) spares(namespace string, r *request) bool {
	toOne, toAll := 0, 0
	for _, g := range s.gifts {
		if g.from != namespace {
			continue
		}
		if g.request == r {
			return false
		}
		if time.Since(g.at) < giftsLast {
			toAll++
		}
		if g.request.namespace == r.namespace && time.Since(s.lastGift(g)) < giftsLast {
			toOne++
		}
	}
	return toOne >= readingGives || toAll >= readingGivesAll
}

// lastGift returns when the namespace of a gift has last given to the same one.
func (s *Spool) lastGift(like gift) (last time.Time) {
	for _, g := range s.gifts {
		if g.from == like.from && g.request.namespace == like.request.namespace && g.at.After(last) {
			last = g.at
		}
	}
	return last
}

// give records that a reading ends for a request. It drops what counts no more.
func (s *Spool) give(h *Share, r *request) {
	var kept []gift
	for _, g := range s.gifts {
		if time.Since(s.lastGift(g)) < giftsLast && (g.from != h.namespace || g.request != r) {
			kept = append(kept, g)
		}
	}
	s.gifts = append(kept, gift{h.namespace, r, time.Now()})
}

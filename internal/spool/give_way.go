package spool

import (
	"context"
	"fmt"
	"maps"
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
		for next := urgentBase; keeps(h.spool, h, turns.WaitedFor(ctx)-before); next = giveWayEvery {
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
func keeps(s *Spool, h *Share, waited time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running[h] || h.stays || time.Since(h.since) < h.turn(waited) {
		return true
	}
	for _, r := range s.queue {
		if gives(s, h, r) && fitsThen(s, r) && !holdsMore(s, r, h) {
			if h.gave = true; !h.urgent {
				give(s, h, r)
			}
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
// a slow small job does not end for fast large ones. Only jobs count that ran when the request began to wait: the turn of another one is over long after
// the request has no time left.
func holdsMore(s *Spool, r *request, h *Share) bool {
	held := map[string]int64{}
	counts := func(share *Share) bool {
		return share.urgent == h.urgent && share.admitted < max(r.place, r.apart) && gives(s, share, r)
	}
	for share := range s.running {
		if counts(share) {
			held[share.namespace] += share.bytes
		}
	}
	for other := range s.running {
		more, own := held[other.namespace], held[h.namespace]
		if counts(other) && other.namespace != h.namespace && (more > own || more == own && other.admitted < h.admitted) {
			return true
		}
	}
	return false
}

// gives returns whether a job gives way to a request once its turn is over. Jobs that have overtaken the request do not, because it fits beside them: their
// turn is over long after the request has no time left. A job that is not urgent gives way to a large request only.
func gives(s *Spool, h *Share, r *request) bool {
	if !r.urgent || r.namespace == h.namespace || r.place == 0 || r.why == turns.OwnShare || h.stays || r.isOvertakenBy(h) {
		return false
	}
	if h.urgent {
		return isTurnOf(s, r, h)
	}
	return large(s, r.claim()) && !spares(s, h.namespace, r)
}

// isTurnOf returns whether it is the turn of a request before that of an urgent job of another namespace: it would hold no more than that namespace, or only
// that one has had space lately. Of two large ones, the first would have to end for the second, which then has too little time: neither would be taken. So a
// large request ends only a job of a namespace that has had space for another one lately.
func isTurnOf(s *Spool, r *request, h *Share) bool {
	if large(s, r.claim()) && !h.again {
		return false
	}
	return s.urgently.Held(r.namespace)+r.bytes <= s.urgently.Held(h.namespace) || h.again && !hadUrgent(s, r.namespace)
}

// inTime returns whether the turn of a job is over while a request has time left.
func (h *Share) inTime(r *request) bool {
	return h.since.Add(h.turn(0)).Sub(r.since) <= 2*urgentTurn-urgentBase
}

// fitsThen returns whether a request has space when all have given way to it whose turn is over in time. If not, no job ends for it.
func fitsThen(s *Spool, r *request) bool {
	var stay, small int64
	for share := range s.running {
		if gives(s, share, r) && share.inTime(r) {
			continue
		}
		if stay += share.bytes; share.urgent && share.namespace != r.namespace && s.urgently.Held(share.namespace) <= s.urgent/2 {
			small += share.bytes
		}
	}
	return stay+r.bytes <= min(openTo(s, r)+small, s.total)
}

// spares returns whether the readings of a namespace have ended often enough for others, so that they need not end for a request. What they gave to one other
// namespace counts until a day has passed since the last of that: so a reading of many hours reaches its end, too.
func spares(s *Spool, namespace string, r *request) bool {
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
		if g.request.namespace == r.namespace && time.Since(lastGift(s, g)) < giftsLast {
			toOne++
		}
	}
	return toOne >= readingGives || toAll >= readingGivesAll
}

// lastGift returns when the namespace of a gift has last given to the same one.
func lastGift(s *Spool, like gift) (last time.Time) {
	for _, g := range s.gifts {
		if g.from == like.from && g.request.namespace == like.request.namespace && g.at.After(last) {
			last = g.at
		}
	}
	return last
}

// give records that a reading ends for a request. It drops what counts no more.
func give(s *Spool, h *Share, r *request) {
	var kept []gift
	for _, g := range s.gifts {
		if time.Since(lastGift(s, g)) < giftsLast && (g.from != h.namespace || g.request != r) {
			kept = append(kept, g)
		}
	}
	s.gifts = append(kept, gift{h.namespace, r, time.Now()})
}

// returned records that a namespace has had space for an urgent job, unless that has failed at once, or ended for others.
func returned(s *Spool, h *Share) {
	maps.DeleteFunc(s.urgentLately, func(_ string, at time.Time) bool { return time.Since(at) >= lately })
	if h.urgent && !h.gave && time.Since(h.since) >= urgentBase {
		s.urgentLately[h.namespace] = time.Now()
	}
}

// hadUrgent returns whether a namespace has had space for an urgent job lately.
func hadUrgent(s *Spool, namespace string) bool {
	at, had := s.urgentLately[namespace]
	return had && time.Since(at) < lately
}

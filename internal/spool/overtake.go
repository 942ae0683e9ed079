package spool

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// patience is how long a job waits before the large urgent jobs of one namespace overtake it only once more. After that, no job of its own namespace
// overtakes it beside which it would not fit.
const patience = time.Hour

// claim is what a job asks for, or what it wants to grow to. place is when its wait began, or when it was admitted.
type claim struct {
	namespace string
	urgent    bool
	bytes     int64
	place     uint64
}

// delays returns whether a job would delay one that has waited for longer, or that is urgent.
func (s *Spool) delays(c claim) bool {
	if s.total == 0 {
		return false
	}
	return s.yields(c) || slices.ContainsFunc(s.queue, func(other *request) bool {
		first := other.urgent && !c.urgent || other.urgent == c.urgent && other.place < c.place
		if !first || other.place == 0 || other.why == turns.OwnShare || s.yields(other.claim()) {
			return false
		}
		return s.passed(other)+c.bytes > s.besides(other, c)
	})
}

// delaysOwn returns whether an earlier job of the namespace has waited for too long, and would have to wait for its own namespace after this one. While it
// does, the jobs of others are admitted before it, so it might never be.
func (s *Spool) delaysOwn(r *request) bool {
	return s.total > 0 && !r.holds && slices.ContainsFunc(s.queue, func(other *request) bool {
		return other.lane() == r.lane() && 0 < other.place && other.place < r.after() && time.Since(other.since) >= patience &&
			s.overShare(r.namespace, r.urgent, other.bytes, r.bytes)
	})
}

// yields returns whether a large urgent job waits for a job that its namespace has overtaken before. While it does, it delays no other job.
func (s *Spool) yields(c claim) bool {
	return s.large(c) && slices.ContainsFunc(s.queue, func(other *request) bool {
		return !other.urgent && other.place > 0 && other.place < c.place && other.overtaken[c.namespace] && s.starves(other)
	})
}

// besides returns how many bytes may overtake a request, so that it still fits beside them. A small urgent job also has the space that a large
// urgent one can never have.
func (s *Spool) besides(other *request, c claim) int64 {
	open := s.openTo(other)
	if other.urgent && c.urgent {
		open = max(open, s.open(c.namespace, true, c.bytes))
	}
	return open - other.bytes
}

// passed returns how many bytes the jobs hold that have overtaken a request. Urgent ones do not count for one that is not urgent: each of them may
// overtake it, so a small job behind it would have to wait for their end.
func (s *Spool) passed(r *request) (bytes int64) {
	for share := range s.running {
		if r.isOvertakenBy(share) && (r.urgent || !share.urgent) {
			bytes += share.bytes
		}
	}
	return bytes
}

// isOvertakenBy returns whether a job that comes after the request was admitted while that waited for others. Then the request fits beside the job.
func (r *request) isOvertakenBy(share *Share) bool {
	after := share.place > r.place || r.urgent && !share.urgent
	return after && share.admitted > max(r.place, r.apart)
}

// overtakeApart records that a job was admitted while requests waited for something else than others: it has not overtaken these.
func (s *Spool) overtakeApart() {
	for _, r := range s.queue {
		if r.why == turns.OwnShare || s.total > 0 && s.yields(r.claim()) {
			r.apart = s.count
		}
	}
}

// large returns whether a namespace would hold more with an urgent job than its part for urgent jobs.
func (s *Spool) large(c claim) bool {
	return c.urgent && s.urgently.Held(c.namespace)+c.bytes > s.urgent/2
}

// starves returns whether a request has waited for too long, and now waits only because of urgent jobs.
func (s *Spool) starves(r *request) bool {
	return time.Since(r.since) >= patience && s.used-s.urgents+r.bytes <= s.total-s.urgent
}

// overtake records which requests a large urgent job has overtaken that have waited for too long.
func (s *Spool) overtake(c claim) {
	if s.total == 0 || !s.large(c) {
		return
	}
	for _, r := range s.queue {
		if r.urgent || r.place == 0 || time.Since(r.since) < patience {
			continue
		}
		if r.overtaken == nil {
			r.overtaken = map[string]bool{}
		}
		r.overtaken[c.namespace] = true
	}
}

// smallUrgents returns what the urgent jobs of other namespaces hold that leave half of the part for urgent jobs to others.
func (s *Spool) smallUrgents(namespace string) (bytes int64) {
	for share := range s.running {
		if share.urgent && share.namespace != namespace && s.urgently.Held(share.namespace) <= s.urgent/2 {
			bytes += share.bytes
		}
	}
	return bytes
}

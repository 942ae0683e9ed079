package spool

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// patience is how long a job waits before the large urgent jobs of one namespace overtake it only once more. After that, no job of its own namespace
// overtakes it beside which it would not fit.
const patience = time.Hour

// delays returns whether a job would delay one that has waited for longer, or that is urgent.
func delays(s *Spool, c claim) bool {
	if s.total == 0 {
		return false
	}
	return yields(s, c) || slices.ContainsFunc(s.queue, func(other *request) bool {
		first := other.urgent && !c.urgent || other.urgent == c.urgent && other.place < c.place
		if !first || other.place == 0 || other.why == turns.OwnShare || yields(s, other.claim()) {
			return false
		}
		return passed(s, other)+c.bytes > besides(s, other, c)
	})
}

// delaysOwn returns whether an earlier job of the namespace has waited for too long, and would have to wait for its own namespace after this one. While it
// does, the jobs of others are admitted before it, so it might never be.
func delaysOwn(s *Spool, r *request) bool {
	return s.total > 0 && !r.holds && slices.ContainsFunc(s.queue, func(other *request) bool {
		return other.lane() == r.lane() && 0 < other.place && other.place < r.after() && time.Since(other.since) >= patience &&
			s.overShare(r.namespace, r.urgent, other.bytes, r.bytes)
	})
}

// yields returns whether a large urgent job waits for a job that its namespace has overtaken before. While it does, it delays no other job.
func yields(s *Spool, c claim) bool {
	return large(s, c) && slices.ContainsFunc(s.queue, func(other *request) bool {
		return !other.urgent && other.place > 0 && other.place < c.place && other.overtaken[c.namespace] && starves(s, other)
	})
}

// besides returns how many bytes may overtake a request, so that it still fits beside them. A small urgent job also has the space that a large
// urgent one can never have.
func besides(s *Spool, other *request, c claim) int64 {
	open := openTo(s, other)
	if other.urgent && c.urgent {
		open = max(open, s.open(c.namespace, true, c.bytes))
	}
	return open - other.bytes
}

// passed returns how many bytes the jobs hold that have overtaken a request. Urgent ones do not count for one that is not urgent: each of them may
// overtake it, so a small job behind it would have to wait for their end.
func passed(s *Spool, r *request) (bytes int64) {
	for share := range s.running {
		if r.isOvertakenBy(share) && (r.urgent || !share.urgent) {
			bytes += share.bytes
		}
	}
	return bytes
}

// overtakeApart records that a job was admitted while requests waited for something else than others: it has not overtaken these.
func overtakeApart(s *Spool) {
	for _, r := range s.queue {
		if r.why == turns.OwnShare || s.total > 0 && yields(s, r.claim()) {
			r.apart = s.count
		}
	}
}

// large returns whether a namespace would hold more with an urgent job than its part for urgent jobs.
func large(s *Spool, c claim) bool {
	return c.urgent && s.urgently.Held(c.namespace)+c.bytes > s.urgent/2
}

// starves returns whether a request has waited for too long, and now waits only because of urgent jobs.
func starves(s *Spool, r *request) bool {
	return time.Since(r.since) >= patience && s.used-s.urgents+r.bytes <= s.total-s.urgent
}

// overtake records which requests a large urgent job has overtaken that have waited for too long.
func (s *Spool) overtake(c claim) {
	if s.total == 0 || !large(s, c) {
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

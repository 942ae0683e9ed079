package worker

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// makeRoom takes the slot of the job that has run for longest beyond its patience, if a job of another namespace waits for nothing else. The job runs on.
// It counts against the share of its namespace, as one that waits elsewhere. As many jobs as the lane has slots run in this way.
func (s *scheduler) makeRoom() bool {
	seen := map[[2]string]bool{}
	for _, w := range s.waiting {
		if s.slots.beyond[w.claim.Lane] >= s.slots.limit(w.claim.Lane) || seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] || s.busy[w.key] || s.slots.why(w) != turns.AllInUse {
			continue
		}
		seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] = true
		if longest := s.longest(w); longest != nil {
			longest.waits++
			longest.beyond = true
			s.slots.beyond[w.claim.Lane]++
			s.slots.leave(longest)
			return true
		}
	}
	return false
}

// longest returns the job of another namespace in the lane of a job that has run for longest beyond its patience, and nil if there is none.
func (s *scheduler) longest(w *ticket) (longest *ticket) {
	for j := range s.active {
		may := !j.away && j.claim.Patience > 0 && time.Since(j.since) >= j.claim.Patience
		if may && j.claim.Lane == w.claim.Lane && j.key.Object.Namespace != w.key.Object.Namespace && (longest == nil || j.since.Before(longest.since)) {
			longest = j
		}
	}
	return longest
}

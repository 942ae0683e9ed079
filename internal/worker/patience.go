package worker

import (
	"time"

	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// makeRoom takes the slot of the job that has run for longest beyond its patience, if a job of another namespace waits for nothing else. The job runs on.
// It counts against the share of its namespace, as one that waits elsewhere. As many jobs as the lane has slots run in this way. It needs p.mu.
func (p *Pool[T]) makeRoom() bool {
	seen := map[[2]string]bool{}
	for _, w := range p.waiting {
		if p.beyond[w.claim.Lane] >= max(p.lanes[w.claim.Lane], 1) || seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] || p.busy[w.key] || p.why(w) != turns.AllInUse {
			continue
		}
		seen[[2]string{w.claim.Lane, w.key.Object.Namespace}] = true
		if longest := p.longest(w); longest != nil {
			longest.waits++
			longest.beyond = true
			p.beyond[w.claim.Lane]++
			p.leave(longest)
			return true
		}
	}
	return false
}

// longest returns the job of another namespace in the lane of a job that has run for longest beyond its patience, and nil if there is none.
func (p *Pool[T]) longest(w *job[T]) (longest *job[T]) {
	for j := range p.active {
		may := !j.away && j.claim.Patience > 0 && time.Since(j.since) >= j.claim.Patience
		if may && j.claim.Lane == w.claim.Lane && j.key.Object.Namespace != w.key.Object.Namespace && (longest == nil || j.since.Before(longest.since)) {
			longest = j
		}
	}
	return longest
}

package cluster

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

const (
	// unseenLimit is how long passes wait for the operator's own status.
	unseenLimit = time.Second
	// behindGrace is how long all passes may take no step before the status reports it.
	behindGrace = time.Minute
)

const (

	// lastBehind is the longest pause between two passes that find the cache behind. The first is plan.RequeueConflict.
	lastBehind = 30 * time.Second
)

// remembered is what the passes of one EtcdCluster remember of those before.
type remembered struct {
	// reported is when the operator last wrote the status.
	reported time.Time
	wrote    ownStatus
	behind   behind
	// unanswered counts the passes in a row that ended without the answers of members.
	unanswered behind
	// failing is since when the passes fail.
	failing failing
}

// behind counts the passes in a row that took no step, because the cache was behind the API server or members did not answer in time.
// Its zero value is ready to use.
type behind struct {
	since, last time.Time
	passes      int
	// what was newer in the API server, or which members did not answer, when the status reported it.
	what string
}

// ownStatus is a status that the operator wrote at the end of a pass that did not fail: when, and the resource version that this gave the
// EtcdCluster. A pass that failed is left to the back-off of its queue.
type ownStatus struct {
	at      time.Time
	version string
}

// untilSeen is how long a pass has to wait until the cache has seen the operator's own status. The pass would plan on the old one, and the
// status of that pass would be a conflict. The pause doubles. If the watch hangs, that must not keep the operator from what members need,
// so the wait ends after unseenLimit. The result is 0 or less if the pass need not wait.
func (known *remembered) untilSeen(cluster *v1beta2.EtcdCluster, now time.Time) time.Duration {
	passed := now.Sub(known.wrote.at)
	if known.wrote.version == "" || passed < 0 {
		return 0
	}
	if order, err := resourceversion.CompareResourceVersion(cluster.ResourceVersion, known.wrote.version); err != nil || order >= 0 {
		return 0
	}
	return min(max(passed, plan.RequeueConflict), unseenLimit-passed)
}

// found counts a pass, and returns the pause until the next one. It doubles each time.
func (b *behind) found(now time.Time) time.Duration {
	if b.passes == 0 || now.Sub(b.last) > behindGrace { // passes in between ended for another cause
		*b = behind{since: now}
	}
	b.last = now
	b.passes++
	if doublings := b.passes - 1; doublings < 10 {
		return min(plan.RequeueConflict<<doublings, lastBehind)
	}
	return lastBehind
}

package cluster

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// silence remembers since when members have not served, so that one slow read is told from an outage. After a restart of
// the operator it begins anew. The zero value is ready for use.
type silence struct {
	mutex sync.Mutex
	since map[client.ObjectKey]map[string]quiet
}

// quiet is since when a member has not served, and whether its etcd has run in that time.
type quiet struct {
	since time.Time
	ran   bool
}

// saw writes into each member of a cluster since when it has not served. The time of a learner begins when its etcd first
// runs: before, it may have waited for a node or an image, and it has yet to copy the data.
func (q *silence) saw(cluster client.ObjectKey, members []plan.Member, now time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	before, after := q.since[cluster], map[string]quiet{}
	for i := range members {
		m := &members[i]
		if !m.Serving {
			seen, known := before[m.Name]
			if !known || (m.Learner && !seen.ran) {
				seen.since = now
			}
			seen.ran = seen.ran || m.Pod == plan.PodRunning
			m.SilentSince = seen.since
			after[m.Name] = seen
		}
		if m.Gate != "" || m.Beside != "" { // the condition Ready says nothing about etcd
			m.UnreadySince = m.SilentSince
		}
	}
	if q.since == nil {
		q.since = map[client.ObjectKey]map[string]quiet{}
	}
	q.since[cluster] = after
}

func (q *silence) forget(cluster client.ObjectKey) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.since, cluster)
}

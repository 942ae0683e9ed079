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
	since map[client.ObjectKey]map[string]time.Time
}

// saw writes into each member of a cluster since when it has not served.
func (q *silence) saw(cluster client.ObjectKey, members []plan.Member, now time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	before, after := q.since[cluster], map[string]time.Time{}
	for i := range members {
		m := &members[i]
		if !m.Serving {
			m.SilentSince = now
			if since, known := before[m.Name]; known {
				m.SilentSince = since
			}
			after[m.Name] = m.SilentSince
		}
		if m.Gate != "" { // the condition Ready says nothing about etcd
			m.UnreadySince = m.SilentSince
		}
	}
	if q.since == nil {
		q.since = map[client.ObjectKey]map[string]time.Time{}
	}
	q.since[cluster] = after
}

func (q *silence) forget(cluster client.ObjectKey) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.since, cluster)
}

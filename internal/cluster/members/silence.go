package members

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/repair"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// Silence remembers since when members have not served, so that one slow read is told from an outage. After a restart of
// the operator it begins anew. The zero value is ready for use.
type Silence struct {
	mutex sync.Mutex
	since map[client.ObjectKey]repair.Silence
}

// Saw writes into each member of a cluster since when it has not served, and since when it has failed.
func (q *Silence) Saw(cluster client.ObjectKey, s *state.State) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.since == nil {
		q.since = map[client.ObjectKey]repair.Silence{}
	}
	q.since[cluster] = q.since[cluster].Saw(s)
}

func (q *Silence) forget(cluster client.ObjectKey) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.since, cluster)
}

package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// memory is what the operator remembers of each EtcdCluster between passes and may forget when it restarts. Its zero value
// is ready to use.
type memory struct {
	lock     sync.Mutex
	clusters map[types.NamespacedName]*remembered
}

// remembered is about one EtcdCluster. Passes for one EtcdCluster never run at the same time, so it needs no lock.
type remembered struct {
	uid     types.UID
	repeats plan.Repeats
	// refused is the newest refusal of a dry run of a Pod, and volume that of a volume.
	refused lastRefusal
	volume  volumeRehearsal
	// pod is what a dry run of a Pod returned before the Pod is needed.
	pod   podRehearsal
	clock serverClock
	// seen is when stored times were first seen.
	seen   clock.Seen
	logins logins
	// changed is when the operator last did something or changed the status.
	changed time.Time
	// requeue is when the plan asked for the next look in the last pass.
	requeue time.Duration
	// acted is the step that the last pass carried out, and again how often the passes before it had carried it out in a row.
	acted plan.Step
	again int
	// reported is when the operator last wrote the status.
	reported time.Time
	wrote    ownStatus
	behind   behind
	// unanswered counts the passes in a row that ended without the answers of members.
	unanswered behind
	// waiting is what the operator waits for, and failing since when its passes fail.
	waiting plan.Waiting
	failing failing
	kept    keptReads
	// questions to members by name that are open, and the last ones of members that hang.
	questions map[string]*question
	// published is since when addresses of Pods that wait were seen in the headless Service, by member name and address.
	published map[endpoint]time.Time
	// mounts is what the events say about Pods that cannot mount their volumes, by member name.
	mounts map[string]mountWords
}

// of returns what is remembered of an EtcdCluster: nothing of an earlier one with the same name.
func (m *memory) of(name types.NamespacedName, uid types.UID) *remembered {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.clusters == nil {
		m.clusters = map[types.NamespacedName]*remembered{}
	}
	if known := m.clusters[name]; known != nil && known.uid == uid {
		return known
	}
	m.clusters[name] = &remembered{uid: uid}
	return m.clusters[name]
}

// count is the number of EtcdClusters.
func (m *memory) count() int {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.clusters)
}

func (m *memory) forget(name types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.clusters, name)
}

// notePublished records since when an address was seen in the headless Service.
func (known *remembered) notePublished(at endpoint, since time.Time) {
	if known.published == nil {
		known.published = map[endpoint]time.Time{}
	}
	known.published[at] = since
}

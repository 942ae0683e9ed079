package view

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Memory is what a part of the operator remembers of each EtcdCluster between passes, and may forget when it restarts. Its zero value is ready
// to use. Passes for one EtcdCluster never run at the same time, so what is remembered of one needs no lock.
type Memory[T any] struct {
	lock     sync.Mutex
	clusters map[types.NamespacedName]*ofUID[T]
}

// ofUID is about the EtcdCluster with that UID.
type ofUID[T any] struct {
	uid   types.UID
	about T
}

// Of returns what is remembered of an EtcdCluster: nothing of an earlier one with the same name.
func (m *Memory[T]) Of(name types.NamespacedName, uid types.UID) *T {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.clusters == nil {
		m.clusters = map[types.NamespacedName]*ofUID[T]{}
	}
	if known := m.clusters[name]; known != nil && known.uid == uid {
		return &known.about
	}
	m.clusters[name] = &ofUID[T]{uid: uid}
	return &m.clusters[name].about
}

// OfView returns what is remembered of the EtcdCluster of a view.
func (m *Memory[T]) OfView(v *View) *T { return m.Of(v.Key(), v.UID) }

// Count is the number of EtcdClusters.
func (m *Memory[T]) Count() int {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.clusters)
}

// Forget drops what is remembered of an EtcdCluster that does not exist any more.
func (m *Memory[T]) Forget(name types.NamespacedName) {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.clusters, name)
}

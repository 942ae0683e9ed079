package restore

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// begun lets a reading begin only when the status has recorded that it begins. If the snapshot ends this process, the next one finds the
// attempt in the status, and pauses before the next attempt. Only the worker waits, and no pass.
type begun struct {
	mu       sync.Mutex
	expected map[worker.Key]chan struct{}
}

// expect returns a channel that is closed when the beginning is recorded.
func (b *begun) expect(key worker.Key) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.expected == nil {
		b.expected = map[worker.Key]chan struct{}{}
	}
	c := make(chan struct{})
	b.expected[key] = c
	return c
}

// recorded lets the reading begin, if it waits for that.
func (b *begun) recorded(key worker.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, found := b.expected[key]; found {
		close(c)
		delete(b.expected, key)
	}
}

// forgetOthers drops what is expected for forgotten readings of other objects of that name: all of them if except is empty.
func (b *begun) forgetOthers(object types.NamespacedName, except types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.expected, func(k worker.Key, _ chan struct{}) bool { return k.Object == object && k.UID != except })
}

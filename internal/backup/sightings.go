package backup

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// sightings holds when something was seen first. The zero value is empty.
type sightings struct {
	mu    sync.Mutex
	first map[worker.Key]time.Time
}

// since returns how long ago key was seen first. It remembers now, if that is the first time.
func (s *sightings) since(key worker.Key, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = map[worker.Key]time.Time{}
	}
	if s.first[key].IsZero() {
		s.first[key] = now
	}
	return now.Sub(s.first[key])
}

// forget forgets all objects of that name.
func (s *sightings) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.first {
		if key.Object == name {
			delete(s.first, key)
		}
	}
}

package failure

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// Refusals remembers which larger volumes Kubernetes refused, so that the operator continues with other work and does not
// ask for the same again at once. After a restart of the operator it asks once more. The zero value is ready for use.
type Refusals struct {
	mutex sync.Mutex
	last  map[client.ObjectKey]sizeRefusal
}

// sizeRefusal is why Kubernetes refused a size of a volume, and when.
type sizeRefusal struct {
	size, why string
	at        time.Time
}

func (r *Refusals) Note(volume client.ObjectKey, size, why string, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.last == nil {
		r.last = map[client.ObjectKey]sizeRefusal{}
	}
	r.last[volume] = sizeRefusal{size: size, why: why, at: now}
}

// Of returns why a volume of a size was refused; empty if it was not, or some time ago.
func (r *Refusals) Of(volume client.ObjectKey, size string, now time.Time) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	last, ok := r.last[volume]
	if ok && now.Sub(last.at) > volumes.RefusalKept {
		delete(r.last, volume)
		return ""
	}
	if last.size != size {
		return ""
	}
	return last.why
}

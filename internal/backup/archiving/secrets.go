package archiving

import (
	"context"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// keptSecrets counts what the connections of an archive or of a copy keep of Secrets for months: their owner chooses how many CA certificates these have.
type keptSecrets struct {
	*runner
	namespace string

	mu    sync.Mutex
	ended bool
	all   map[*objstore.Holding]bool
}

func (t *runner) secretsOf(namespace string) *keptSecrets {
	return &keptSecrets{runner: t, namespace: namespace, all: map[*objstore.Holding]bool{}}
}

// members returns a context for the Secrets of the members.
func (k *keptSecrets) members(ctx context.Context) context.Context {
	return clients.Keeping(ctx, k.begin())
}

// open opens a store that is opened again after failures, with the Secret as it is then. A Secret that was replaced does not count any more.
func (k *keptSecrets) open(ctx context.Context, o state.JobSpec) (*reopened, error) {
	var present *objstore.Holding
	again := func(ctx context.Context) (objstore.Store, error) {
		held := k.begin()
		store, err := k.Store(clients.Keeping(ctx, held), o)
		if err != nil {
			k.end(held)
			return nil, err
		}
		k.end(present)
		present = held
		return store, nil
	}
	store, err := again(ctx)
	if err != nil {
		return nil, err
	}
	return newReopened(store, k.Now, again), nil
}

// begin returns nil after the end: a request of a store that ends late opens it once more.
func (k *keptSecrets) begin() *objstore.Holding {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	h := objstore.Keep(k.namespace)
	k.all[h] = true
	return h
}

func (k *keptSecrets) end(h *objstore.Holding) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h.Release()
	delete(k.all, h)
}

// release ends all of them.
func (k *keptSecrets) release() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for h := range k.all {
		h.Release()
	}
	clear(k.all)
	k.ended = true
}

package clients

import (
	"context"
	"sync"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// KeptSecrets counts what the connections of an archive or of a copy keep of Secrets for months: their owner chooses how many CA certificates these have.
type KeptSecrets struct {
	*Clients
	namespace string

	mu    sync.Mutex
	ended bool
	all   map[*objstore.Holding]bool
}

// SecretsOf returns what counts the Secrets of connections of a namespace. The caller calls Release once.
func (t *Clients) SecretsOf(namespace string) *KeptSecrets {
	return &KeptSecrets{Clients: t, namespace: namespace, all: map[*objstore.Holding]bool{}}
}

// Members returns a context for the Secrets of the members.
func (k *KeptSecrets) Members(ctx context.Context) context.Context {
	return Keeping(ctx, k.begin())
}

// LastingStore opens a store that is opened again after failures, with the Secret as it is then. A Secret that was replaced does not count any more.
func (k *KeptSecrets) LastingStore(ctx context.Context, o state.JobSpec) (objstore.Store, error) {
	var present *objstore.Holding
	again := func(ctx context.Context) (objstore.Store, error) {
		held := k.begin()
		store, err := k.Store(Keeping(ctx, held), o)
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
func (k *KeptSecrets) begin() *objstore.Holding {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	h := objstore.Keep(k.namespace)
	k.all[h] = true
	return h
}

func (k *KeptSecrets) end(h *objstore.Holding) {
	k.mu.Lock()
	defer k.mu.Unlock()
	h.Release()
	delete(k.all, h)
}

// Release ends all of them.
func (k *KeptSecrets) Release() {
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

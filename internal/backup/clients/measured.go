package clients

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
)

// measuredStore ends an attempt whose store hardly sends.
type measuredStore struct{ objstore.Store }

func (m measuredStore) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := m.Store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	return pace.Body(ctx, body), nil
}

// measure returns the store whose objects are measured, with the abilities of the store.
func measure(store objstore.Store) objstore.Store {
	if unfinished, ok := store.(objstore.Unfinished); ok {
		return struct {
			measuredStore
			objstore.Unfinished
		}{measuredStore{store}, unfinished}
	}
	return measuredStore{store}
}

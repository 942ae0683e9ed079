package backup

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// measured ends an attempt whose member hardly sends. The transport of the stores measures what is sent to them, see pace.Send.
type measured struct{ snapshot.Source }

func (m measured) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	stream, size, err := m.Source.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	return pace.Body(ctx, stream), size, nil
}

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

package pace

import (
	"context"
	"io"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Objects measures a transfer of many objects. Each of them counts as 256 KiB at least, and as 1 MiB while others wait for the end.
func Objects(ctx context.Context, store objstore.Getter) objstore.Getter {
	m, measured := ctx.Value(key{}).(measures)
	if !measured {
		return store
	}
	return &objects{store, newMeter(m.limit)}
}

type objects struct {
	objstore.Getter
	meter *meter
}

// Get opens an object, whose reads are measured.
func (o *objects) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	o.meter.wait()
	defer o.meter.done(0)
	body, err := o.Getter.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	o.meter.add(0, 1)
	return &objectBody{body, o.meter}, nil
}

type objectBody struct {
	io.ReadCloser
	meter *meter
}

func (b *objectBody) Read(p []byte) (n int, err error) {
	b.meter.wait()
	defer func() { b.meter.done(int64(n)) }()
	return b.ReadCloser.Read(p)
}

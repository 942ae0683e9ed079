package archive_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// flaky is a store in which some requests fail, some of them after they had their effect.
type flaky struct {
	objstore.Store
	mu     sync.Mutex
	random *rand.Rand
}

var errFlaky = errors.New("the store failed on purpose")

func (f *flaky) dice(sides int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.IntN(sides)
}

func (f *flaky) Put(ctx context.Context, key string, body io.Reader) error {
	switch f.dice(6) {
	case 0:
		return errFlaky
	case 1:
		if err := f.Store.Put(ctx, key, body); err != nil {
			return err
		}
		return errFlaky // the answer is lost
	case 2:
		select {
		case <-time.After(time.Duration(f.dice(400)) * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.Store.Put(ctx, key, body)
}

func (f *flaky) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if f.dice(10) == 0 {
		return nil, errFlaky
	}
	return f.Store.Get(ctx, key)
}

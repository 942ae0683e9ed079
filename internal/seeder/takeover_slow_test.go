package seeder

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// slow is a store that needs a time for each segment.
type slow struct {
	objstore.Store
	needs time.Duration
}

func (s slow) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	if err != nil || !strings.HasSuffix(key, ".segment") {
		return body, err
	}
	select {
	case <-time.After(s.needs):
		return body, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), body.Close())
	}
}

// The store needed 12 seconds for each segment. A planned promotion cancelled each of them after 10, so neither cluster took writes.
func TestAStandbyWithASlowStoreReachesTheEndOfItsSource(t *testing.T) {
	a := givenArchive(t)
	last := a.write()
	a.ends(firstEnd, last, false)
	a.plan()
	o, err := a.seeder.followOptions(t.Context(), a.request, filepath.Join(a.volume, standbyName))
	if err != nil {
		t.Fatal(err)
	}
	a.seeder.restLimit = 300 * time.Millisecond
	o.Store = slow{o.Store, 2 * sourcePoll} // it sees the end while it fetches the segment
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := (&following{Seeder: &a.seeder, request: a.request, options: o}).untilPromoted(ctx); err != nil {
		t.Fatal(err)
	}
	if d, err := claimed(a.volume); d == nil || d.Revision != last || err != nil {
		t.Errorf("it has claimed %+v, %v", d, err)
	}
}

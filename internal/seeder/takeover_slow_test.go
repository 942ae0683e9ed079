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

// slow is a store that needs twelve seconds for a link.
type slow struct {
	objstore.Store
	gets int
}

func (s *slow) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	if err != nil || strings.Contains(key, "switchovers/") || !strings.HasSuffix(key, ".segment") {
		return body, err
	}
	s.gets++
	select {
	case <-time.After(12 * time.Second):
		return body, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), body.Close())
	}
}

// The store sends each link in 12 seconds. A planned promotion cancelled each of them after 10, so neither cluster took writes.
func TestAStandbyWithASlowStoreReachesTheEndOfItsSource(t *testing.T) {
	for name, planned := range map[string]bool{"planned": true, "only following": false} {
		t.Run(name, func(t *testing.T) {
			a := givenArchive(t)
			last := a.write()
			t.Log(a.chain)
			a.ends(firstEnd, last, false)
			if planned {
				a.plan()
			}
			o, err := a.seeder.followOptions(t.Context(), a.request, filepath.Join(a.volume, standbyName))
			if err != nil {
				t.Fatal(err)
			}
			store := &slow{Store: o.Store}
			o.Store = store
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
			defer cancel()
			f := &following{Seeder: &a.seeder, request: a.request, options: o}
			if !planned {
				go func() {
					for ctx.Err() == nil {
						if s := a.seeder.progress.standby.Load(); s != nil && s.Revision == last {
							cancel()
						}
						pause(ctx, 100*time.Millisecond)
					}
				}()
			}
			began := time.Now()
			err = f.untilPromoted(ctx)
			t.Logf("after %s: %v, link requests %d, standby %+v", time.Since(began), err, store.gets, a.seeder.progress.standby.Load())
			if s := a.seeder.progress.standby.Load(); s.Revision != last {
				t.Errorf("it has revision %d of %d", s.Revision, last)
			}
		})
	}
}

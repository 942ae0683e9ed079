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
	asked chan struct{} // has an element for each segment that is asked for
}

func (s slow) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	body, err := s.Store.Get(ctx, key)
	if err != nil || !strings.HasSuffix(key, ".segment") {
		return body, err
	}
	s.asked <- struct{}{}
	select {
	case <-time.After(s.needs):
		return body, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), body.Close())
	}
}

// slowly returns a standby that is to be promoted when its source has stopped, which it has. The store needs a time for each segment.
func slowly(t *testing.T, needs time.Duration) (a *archived, f *following, last int64) {
	t.Helper()
	a = givenArchive(t)
	last = a.write()
	a.ends(firstEnd, last, false)
	a.plan()
	o, err := a.seeder.followOptions(t.Context(), a.request, filepath.Join(a.volume, standbyName))
	if err != nil {
		t.Fatal(err)
	}
	a.seeder.restLimit, a.seeder.catchUpLimit = 300*time.Millisecond, 300*time.Millisecond
	o.Store = slow{o.Store, needs, make(chan struct{}, 100)}
	return a, &following{Seeder: &a.seeder, request: a.request, options: o}, last
}

// The store needed 12 seconds for each segment. A planned promotion cancelled each of them after 10, so neither cluster took writes.
func TestAStandbyWithASlowStoreReachesTheEndOfItsSource(t *testing.T) {
	a, f, last := slowly(t, 2*sourcePoll) // it sees the end while it fetches the segment
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := f.untilPromoted(ctx); err != nil {
		t.Fatal(err)
	}
	if d, err := claimed(a.volume); d == nil || d.Revision != last || err != nil {
		t.Errorf("it has claimed %+v, %v", d, err)
	}
}

// The source has stopped, and the store began to hang before the standby had all. A person gave the rest up, and clients waited for minutes after that.
func TestAPromotionNowIsSeenWhileTheRestOfTheArchiveIsFetched(t *testing.T) {
	a, f, _ := slowly(t, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.untilPromoted(ctx) }()
	for range 2 { // while it follows, and when it has seen the end
		<-f.options.Store.(slow).asked
	}
	a.promote()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if d, err := claimed(a.volume); d != nil || err != nil {
		t.Errorf("it has claimed %+v, %v, which it does not have", d, err)
	}
}

package copying

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// A tenant creates hundreds of EtcdBackups that copy an archive. Each had a copier with two open stores, and read a header of up to 1 MiB of each link, for
// which none of the budgets counts. So he could fill the memory of the operator, which then ended with the backups of all.
func TestAsManyArchivesAreCopiedAsThereArePlaces(t *testing.T) {
	b := newCopyBench(t)
	b.job.places = limits.NewPlaces(spool.New(t.TempDir(), spool.Options{Limit: 8 * limits.Share * limits.Spool * 16 / 15}), 0)
	synctest.Test(t, func(t *testing.T) {
		var opened atomic.Int32
		open := b.job.Open
		b.job.Open = func(ctx context.Context, a connect.Access) (objstore.Store, error) {
			opened.Add(1)
			return open(ctx, a)
		}
		p := New(b.job.copy)
		start := func(namespace string, n int) worker.Key {
			spec := b.spec
			spec.job.Namespace = namespace
			key := worker.Key{Object: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(n)}, UID: types.UID(fmt.Sprint(namespace, n))}
			p.Set(key, &spec)
			return key
		}
		var keys []worker.Key
		for n := range 200 {
			keys = append(keys, start("tenant", n))
		}
		<-time.After(5 * time.Minute)
		if n := opened.Load(); n > 2*8 {
			t.Errorf("%d stores are open for 8 places", n)
		}
		without := 0
		for _, key := range keys {
			if view, _ := p.Find(key); view.Failure != nil && view.Failure.Reason == v1beta2.ReasonSpoolTooSmall {
				without++
			}
		}
		if without < 200-8 {
			t.Errorf("the status of %d says that there is no place", without)
		}
		before := opened.Load()
		start("other", 0)
		<-time.After(time.Minute)
		if opened.Load() == before {
			t.Error("another namespace has no place")
		}
		p.Stop()
		if n := b.job.places.Copies(); n != 0 {
			t.Errorf("in the end, %d places are taken", n)
		}
	})
}

package archiving

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// oneChange is a cluster that has accepted one change, at revision 2.
type oneChange struct{}

func (oneChange) Head(context.Context) (archiver.Head, error) {
	return archiver.Head{ClusterID: 7, Revision: 2}, nil
}
func (oneChange) Auth(context.Context, uint64) (auth.State, error) {
	return auth.State{Revision: 1}, nil
}
func (oneChange) TTL(context.Context, uint64, int64) (int64, error) { return 0, archiver.ErrNoLease }
func (oneChange) Watch(ctx context.Context, _ int64) (archiver.Stream, error) {
	return &changeStream{ctx: ctx}, nil
}

type changeStream struct {
	ctx  context.Context
	sent bool
}

func (s *changeStream) Receive() (archiver.Response, error) {
	if s.sent {
		<-s.ctx.Done()
		return archiver.Response{}, s.ctx.Err()
	}
	s.sent = true
	event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("key"), CreateRevision: 2, ModRevision: 2, Version: 1}}
	return archiver.Response{Head: archiver.Head{ClusterID: 7, Revision: 2}, Events: []*mvccpb.Event{event}}, nil
}

// outage is a store that accepts no segment while it is down.
type outage struct {
	objstore.Store
	down atomic.Bool
}

func (o *outage) Put(ctx context.Context, key string, body io.Reader) error {
	if o.down.Load() && strings.HasSuffix(key, ".segment") {
		return errors.New("the store is down")
	}
	return o.Store.Put(ctx, key, body)
}

// TestARunningArchiverWaitsForTheStoreAfterARecoveryThatWasMissed has a running archiver, a store that is down, and a pass that sees another
// recovery without its step Forcing. The waiting change may be missing in all members.
func TestARunningArchiverWaitsForTheStoreAfterARecoveryThatWasMissed(t *testing.T) {
	statetest.Bubble(t, "while the store is down for an hour", func(t *testing.T) {
		disk, err := file.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		store, dir, ended := &outage{Store: disk}, t.TempDir(), make(chan error, 1)
		root := archive.Root("", "ns", "b")
		p := New(func(ctx context.Context, a *Archiver) {
			if a.current().recovery != "" {
				<-ctx.Done() // the archiver of the recovered cluster
				return
			}
			ended <- archiver.New(archiver.Options{
				Cluster: oneChange{}, Store: store, Root: root, Dir: dir, Hurry: a.hurried, MaxLag: time.Hour, Now: time.Now,
				TakeBase: func(context.Context, string) (archiver.Base, error) {
					return archiver.Base{Key: "base", ClusterID: 7, Revision: 1, At: time.Now(), Auth: auth.State{Revision: 1}}, nil
				},
			}).Run(ctx)
		}, nil)
		key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "b"}, UID: "1"}
		p.Set(key, &Spec{})
		defer func() {
			p.Set(key, nil)
			synctest.Wait()
		}()
		store.down.Store(true)
		<-time.After(time.Minute)
		p.Set(key, &Spec{recovery: "of Monday"})
		<-time.After(time.Hour)
		select {
		case err := <-ended:
			t.Fatalf("the archiver has thrown away a change that only it has: %v", err)
		default:
		}
		store.down.Store(false)
		<-time.After(time.Minute)
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, archiver.ErrRecovery) {
				t.Errorf("the archiver ended with %v", err)
			}
		default:
			t.Error("the archiver does not end after the store has its change")
		}
		all, release, err := archive.List(t.Context(), disk, root)
		if err != nil || len(all) != 1 || len(all[0].Links) != 1 {
			t.Fatalf("the archive has %+v, want one segment; error %v", all, err)
		}
		release()
	})
}

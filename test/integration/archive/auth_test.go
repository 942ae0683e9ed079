package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// afterGrant is how long the person who turns authentication on waits between the last grant and that.
const afterGrant = 10 * time.Second

const authRoot = "continuous-archive/ns/users/"

// guarded is a cluster whose authentication is turned on while it is archived.
type guarded struct {
	*testing.T
	cluster *servers.EtcdCluster
	client  *clientv3.Client // of root
	store   objstore.Store

	mu    sync.Mutex
	bases []archive.Base
}

// TestAPointAfterAuthenticationWasTurnedOnIsNeverRestoredWithoutIt: etcd does not raise the auth revision then. A restored cluster with
// authentication off serves everybody without a password, and nothing shows it: hashes cover keys only.
func TestAPointAfterAuthenticationWasTurnedOnIsNeverRestoredWithoutIt(t *testing.T) {
	for _, minor := range []string{"3.5", "3.6", "3.7"} {
		t.Run("etcd "+minor, func(t *testing.T) {
			t.Parallel()
			g := &guarded{T: t, cluster: servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 1}), store: inDirectory(t)}
			g.client = g.connect("", "")
			a := g.archive()
			g.await("begin", func() bool { return a.Status().Timeline == 1 })
			g.put("before")
			g.must(g.client.UserAdd(t.Context(), "root", "secret"))
			g.must(g.client.UserGrantRole(t.Context(), "root", "root"))
			granted := time.Now()
			g.await("take a base with the users", func() bool { return g.taken() >= 2 })
			users := g.taken()
			g.await("report progress", func() bool { return a.Status().Progress.At.After(granted.Add(afterGrant)) })
			g.must(g.client.AuthEnable(t.Context()))
			g.client = g.connect("root", "secret")
			enabled := time.Now()
			first := g.put("after")
			last := g.put("later")
			g.await("store the later changes", func() bool { return a.Status().Stored.Revision >= last })
			restored := g.guarded(archive.Target{Revision: first}, archive.Target{Revision: last}, archive.Target{Time: enabled}, archive.Target{Time: time.Now()})
			g.await("take a base with authentication on", func() bool { return g.taken() > users })
			last = g.put("at last")
			g.await("store the last change", func() bool { return a.Status().Stored.Revision >= last })
			if restored += g.guarded(archive.Target{Revision: last}, archive.Target{Time: enabled}); restored == 0 {
				t.Error("no point after authentication was turned on can be restored, although a base has it")
			}
		})
	}
}

// guarded restores targets. Each must be refused, or restored with authentication on. It returns how many were restored.
func (g *guarded) guarded(targets ...archive.Target) (restored int) {
	g.Helper()
	g.mu.Lock()
	bases := append([]archive.Base(nil), g.bases...)
	g.mu.Unlock()
	for _, target := range targets {
		choice, err := archive.Find(g.Context(), g.store, authRoot, bases, archive.Progress{}, target)
		if archive.IsRefusal(err) {
			g.Logf("%s is refused: %v", target, err)
			continue
		}
		if err != nil {
			g.Fatal(err)
		}
		path := filepath.Join(g.TempDir(), "restored.db")
		if err := copyFile(path, choice.Base.Key); err != nil {
			g.Fatal(err)
		}
		_, err = replay.Replay(g.Context(), replay.Options{
			Path: path, Revision: choice.Reached.Revision, Chain: choice.Chain, FallbackTTL: 60, Next: choice.Segments(g.store, authRoot),
		})
		if err != nil {
			g.Logf("%s is refused: %v", target, err)
			continue
		}
		info, err := dbfile.Inspect(path)
		if err != nil {
			g.Fatal(err)
		}
		if restored++; info.Auth.Enabled != auth.On {
			g.Errorf("%s is restored with auth revision %s: the cluster would serve everybody without a password", target, info.Auth)
		}
	}
	return restored
}

func (g *guarded) connect(user, password string) *clientv3.Client {
	g.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: g.cluster.Endpoints(), DialTimeout: 3 * time.Second, Logger: zap.NewNop(), Username: user, Password: password,
	})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { _ = client.Close() })
	return client
}

// must takes the result of a request.
func (g *guarded) must(_ any, err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *guarded) put(value string) int64 {
	g.Helper()
	answer, err := g.client.Put(g.Context(), "key", value)
	if err != nil {
		g.Fatal(err)
	}
	return answer.Header.Revision
}

func (g *guarded) taken() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.bases)
}

// archive runs an archiver until the test ends. It connects again after an error, as backup-operator does.
func (g *guarded) archive() *archiver.Archiver {
	ctx, cancel := context.WithCancel(g.Context())
	connection := &reconnecting{endpoints: g.cluster.Endpoints()}
	a := archiver.New(archiver.Options{
		Cluster: connection, Store: g.store, Root: authRoot, Dir: g.TempDir(), MaxLag: 400 * time.Millisecond,
		TakeBase: func(ctx context.Context, _ string) (archiver.Base, error) { return g.takeBase(ctx, connection) }, Now: time.Now,
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := connection.open(ctx); err == nil {
				g.Logf("the archiver ended: %v", a.Run(ctx))
			}
		}
	}()
	g.Cleanup(func() { cancel(); <-ended })
	return a
}

// reconnecting connects as root, whose password is not checked while authentication is off.
type reconnecting struct {
	endpoints []string
	*watch.Client
}

func (r *reconnecting) open(ctx context.Context) (err error) {
	if r.Client != nil {
		r.Close()
	}
	r.Client, err = watch.Open(ctx, watch.Options{Endpoints: r.endpoints, User: "root", Password: "secret"})
	return err
}

func (g *guarded) takeBase(ctx context.Context, cluster *reconnecting) (archiver.Base, error) {
	head, err := cluster.Head(ctx)
	if err != nil {
		return archiver.Base{}, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: g.cluster.Endpoints(), Logger: zap.NewNop(), Username: "root", Password: "secret"})
	if err != nil {
		return archiver.Base{}, err
	}
	defer client.Close()
	stream, err := client.Snapshot(ctx)
	if err != nil {
		return archiver.Base{}, err
	}
	defer stream.Close()
	path := filepath.Join(g.TempDir(), "base.db")
	f, err := os.Create(path)
	if err != nil {
		return archiver.Base{}, err
	}
	at := time.Now().UTC()
	_, err = io.Copy(f, stream)
	if err = errors.Join(err, f.Close()); err != nil {
		return archiver.Base{}, err
	}
	info, err := dbfile.Inspect(path)
	if err != nil {
		return archiver.Base{}, err
	}
	base := archive.Base{
		Key: path, ClusterID: fmt.Sprintf("%016x", head.ClusterID), Point: archive.Point{Revision: max(1, info.Revision), At: at}, Auth: info.Auth,
	}
	g.mu.Lock()
	g.bases = append(g.bases, base)
	g.mu.Unlock()
	return archiver.Base{Key: path, ClusterID: head.ClusterID, Revision: base.Point.Revision, At: at, Auth: info.Auth}, nil
}

func (g *guarded) await(what string, met func() bool) {
	g.Helper()
	deadline := time.After(60 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			g.Fatalf("it did not %s; %d bases were taken", what, g.taken())
		}
	}
}

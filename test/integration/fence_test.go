package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// A restore that moves clients to another cluster loses what the old one acknowledges after that. A fence is the only thing that keeps a
// member from acknowledging which the operator cannot reach.
func TestAFenceIsTheLastRevision(t *testing.T) {
	for _, minor := range []string{"3.4", "3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			f := &fenced{T: t, minor: minor, cluster: servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3}), id: etcd.FenceID("restore")}
			stop := f.write()
			eventually(t, "write", func(context.Context) error { return f.atLeast(&f.acknowledged, 100) })
			last := f.fence(0) // it meets writes on their way
			eventually(t, "refuse writes", func(context.Context) error { return f.atLeast(&f.refused, 100) })
			stop()
			if got := f.acknowledged.Load(); got == 0 || got > last {
				t.Errorf("a write of revision %d is acknowledged, and the last one of the fence is %d", got, last)
			}
			f.refuses("after the fence")
			for i, m := range f.cluster.Members {
				m.Kill()
				m.Start()
				if again := f.fence(i); again != last {
					t.Errorf("the second fence ends at revision %d, and the first one at %d", again, last)
				}
			}
			f.refuses("after all members were killed and restarted")
			f.restored(last)
			f.tellsApart()
		})
	}
}

type fenced struct {
	*testing.T
	minor   string
	cluster *servers.EtcdCluster
	id      etcd.ID
	// acknowledged is the newest revision of a write that a client knows, and refused how many writes were refused.
	acknowledged, refused atomic.Int64
}

func (f *fenced) atLeast(count *atomic.Int64, want int64) error {
	if got := count.Load(); got < want {
		return fmt.Errorf("%d of %d", got, want)
	}
	return nil
}

// client writes as an application does.
func (f *fenced) client(member int) *clientv3.Client {
	f.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{f.cluster.Members[member].ClientURL}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	return c
}

// write writes to each member until the returned function is called. It keeps the newest acknowledged revision.
func (f *fenced) write() (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var writers sync.WaitGroup
	for i := range f.cluster.Members {
		c := f.client(i)
		writers.Go(func() {
			for ctx.Err() == nil {
				answer, err := c.Put(ctx, fmt.Sprintf("key-%d", i), "value")
				if err != nil {
					f.refused.Add(1)
					continue
				}
				for old := f.acknowledged.Load(); answer.Header.Revision > old && !f.acknowledged.CompareAndSwap(old, answer.Header.Revision); {
					old = f.acknowledged.Load()
				}
			}
		})
	}
	return func() { cancel(); writers.Wait() }
}

func (f *fenced) fence(member int) (last int64) {
	f.Helper()
	eventually(f.T, "fence", func(ctx context.Context) (err error) {
		last, err = askAs(f.T, f.cluster.Members[member], nil).Fence(ctx, f.id)
		return err
	})
	return last
}

// refuses checks each kind of write at each member, and that reads work.
func (f *fenced) refuses(when string) {
	f.Helper()
	for i := range f.cluster.Members {
		c, ctx := f.client(i), f.Context()
		for name, write := range map[string]func() error{
			"put":      func() error { _, err := c.Put(ctx, "key", "late"); return err },
			"delete":   func() error { _, err := c.Delete(ctx, "key-0"); return err },
			"txn":      func() error { _, err := c.Txn(ctx).Then(clientv3.OpPut("key", "late")).Commit(); return err },
			"compact":  func() error { _, err := c.Compact(ctx, 2); return err },
			"lease":    func() error { _, err := c.Grant(ctx, 60); return err },
			"no lease": func() error { _, err := c.Revoke(ctx, 1); return err },
		} {
			if err := write(); !errors.Is(err, rpctypes.ErrCorrupt) && rpctypes.ErrorDesc(err) != rpctypes.ErrorDesc(rpctypes.ErrGRPCCorrupt) {
				f.Errorf("%s, member %d, %s: %v", when, i, name, err)
			}
		}
		if answer, err := c.Get(ctx, "key-0"); err != nil || len(answer.Kvs) != 1 {
			f.Errorf("%s, member %d does not serve a read: %v", when, i, err)
		}
	}
}

// restored: the alarm travels in a snapshot, but a cluster that is restored from it serves writes.
func (f *fenced) restored(last int64) {
	f.Helper()
	body, err := f.client(0).Snapshot(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer body.Close()
	file, dir, peer := filepath.Join(f.TempDir(), "snap.db"), filepath.Join(f.TempDir(), "data"), servers.PeerURL(f)
	content, err := io.ReadAll(body)
	if err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		f.Fatal(err)
	}
	if info, err := dbfile.Inspect(file); err != nil || info.Alarms != "" {
		f.Errorf("a snapshot behind a fence is said to have the alarms %q, error %v", info.Alarms, err)
	}
	if err := dbfile.Restore(f.Context(), dbfile.Options{SnapshotPath: file, DataDir: dir, Name: "seed", PeerURLs: []string{peer}, InitialCluster: "seed=" + peer, Token: "seed"}); err != nil {
		f.Fatal(err)
	}
	seed := servers.EtcdFromDataDir(f, f.minor, dir, "seed", peer, "seed")
	seed.Put(f, "key", "after the restore")
	if _, revision := seed.All(f); revision != last+1 {
		f.Errorf("the restored cluster is at revision %d, expected %d", revision, last+1)
	}
}

// tellsApart takes fences back beside a fence of somebody else and a CORRUPT alarm of a member, which stay.
func (f *fenced) tellsApart() {
	f.Helper()
	c, operator := f.client(0), askAs(f.T, f.cluster.Members[0], nil)
	status, err := operator.Status(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	other := etcd.FenceID("another restore")
	alarm := func(action pb.AlarmRequest_AlarmAction, id etcd.ID) {
		f.Helper()
		if _, err := pb.NewMaintenanceClient(c.ActiveConnection()).Alarm(f.Context(), &pb.AlarmRequest{Action: action, MemberID: uint64(id), Alarm: pb.AlarmType_CORRUPT}); err != nil {
			f.Fatal(err)
		}
	}
	for name, id := range map[string]etcd.ID{"of another restore": other, "of somebody else": 77, "of a member that is corrupt": status.MemberID} {
		alarm(pb.AlarmRequest_ACTIVATE, id)
		for range 2 {
			if err := operator.Unfence(f.Context(), f.id); err != nil {
				f.Error(err)
			}
		}
		status, err := operator.Status(f.Context())
		if want := []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: id}}; err != nil || !slices.Equal(status.Alarms(), want) {
			f.Errorf("beside the alarm %s, these are left: %v, error %v", name, status.Alarms(), err)
		}
		f.refuses("beside the alarm " + name)
		f.fence(0)
		alarm(pb.AlarmRequest_DEACTIVATE, id)
	}
	if err := operator.Unfence(f.Context(), f.id); err != nil {
		f.Error(err)
	}
	for i := range f.cluster.Members {
		if _, err := f.client(i).Put(f.Context(), "key", "value"); err != nil {
			f.Errorf("member %d refuses writes after the last fence is taken back: %v", i, err)
		}
	}
}

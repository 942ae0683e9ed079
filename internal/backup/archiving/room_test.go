package archiving

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// oneRevision is a cluster whose revision 2 has that many events of a MiB, and whose revision 3 is small.
type oneRevision struct {
	events int
	asked  int
	dir    string
	most   int64 // bytes on the disk
	value  []byte
}

func (c *oneRevision) Head(context.Context) (archiver.Head, error) {
	return archiver.Head{ClusterID: 7, Revision: 3}, nil
}
func (c *oneRevision) Auth(context.Context, uint64) (auth.State, error) {
	return auth.State{Revision: 1, Enabled: auth.Off}, nil
}
func (c *oneRevision) TTL(context.Context, uint64, int64) (int64, error) { return 60, nil }

func (c *oneRevision) Watch(ctx context.Context, _ int64) (archiver.Stream, error) {
	return &pieces{oneRevision: c, ctx: ctx}, nil
}

type pieces struct {
	*oneRevision
	ctx  context.Context //nolint:containedctx // it is that of the watch
	sent int
}

func (p *pieces) Receive() (archiver.Response, error) {
	p.asked++
	p.most = max(p.most, sizeOfFiles(p.dir))
	p.sent++
	head := archiver.Head{ClusterID: 7, Revision: 3}
	kv := &mvccpb.KeyValue{Key: []byte("k"), Value: p.value, ModRevision: 2, CreateRevision: 2, Version: 1}
	switch {
	case p.sent <= p.events:
		return archiver.Response{Head: head, Events: []*mvccpb.Event{{Kv: kv}}, More: p.sent < p.events}, nil
	case p.sent == p.events+1:
		kv.Value, kv.ModRevision, kv.CreateRevision = nil, 3, 3
		return archiver.Response{Head: head, Events: []*mvccpb.Event{{Kv: kv}}}, nil
	}
	<-p.ctx.Done()
	return archiver.Response{}, p.ctx.Err()
}

func sizeOfFiles(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum
}

// archives runs an archiver of the cluster until it ends or has stored revision 3, with the place and the extra room of an EtcdBackup.
func (c *oneRevision) archives(t *testing.T, s *spool.Spool) error {
	t.Helper()
	job := runnerIn(s)
	release, err := job.reserve(t.Context(), "ns")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	grow, end := job.extra("ns")
	defer end()
	c.dir = s.Dir()
	stored, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if c.value == nil {
		c.value = []byte(strings.Repeat("v", 1<<20))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	running := archiver.New(archiver.Options{
		Cluster: c, Store: stored, Root: "continuous-archive/ns/name/", Dir: c.dir, Now: time.Now, MaxLag: time.Hour, MaxSize: limits.Segment, MaxSpool: archiveWaiting, Grow: grow,
		TakeBase: func(context.Context, string) (archiver.Base, error) {
			return archiver.Base{Key: "base", ClusterID: 7, Revision: 1, At: time.Now(), Auth: auth.State{Revision: 1, Enabled: auth.Off}}, nil
		},
	})
	result := make(chan error, 1)
	go func() { result <- running.Run(ctx) }()
	tick, last := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-tick.C:
			if running.Status().Stored.Revision >= 2 {
				cancel()
				return ignored(<-result, context.Canceled)
			}
		case <-last:
			t.Fatal("the archiver does not end")
		}
	}
}

func ignored(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// A server that a tenant names sends one transaction without an end. It filled the node's disk, and the kubelet removed backup-operator: no
// namespace had backups any more.
func TestOneRevisionOfTenTimesThePlaceDoesNotFillTheDisk(t *testing.T) {
	const limit = 4 * limits.Spool * 16 / 15
	s := spool.New(t.TempDir(), spool.Options{Limit: limit})
	c := &oneRevision{events: 10 * limits.Spool >> 20}
	var err error
	heaptest.Bound(t, 64, func() { err = c.archives(t, s) })
	failure := classify(err, state.JobSpec{})
	if !errors.Is(err, archiver.ErrRoom) || failure.Reason != v1beta2.ReasonSpoolTooSmall || !strings.Contains(failure.Message, "revision 2") {
		t.Errorf("error %v, the status shows %+v", err, failure)
	}
	if c.most > 4*limits.Spool {
		t.Errorf("%d MiB were on the disk, of %d MiB", c.most>>20, limit>>20)
	}
	if used, _, _ := s.Usage(); used != 0 || s.Largest() != limit-limit/16 {
		t.Errorf("%d bytes are still reserved, and one job may have %d", used, s.Largest())
	}
}

// While others use the spool, the archive waits for them. The message said that the database has grown.
func TestARevisionWithoutRoomNamesWhatUsesIt(t *testing.T) {
	const limit = 4 * limits.Spool * 16 / 15
	s := spool.New(t.TempDir(), spool.Options{Limit: limit})
	other, err := s.Of("other").Reserve(t.Context(), 2*limits.Spool)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	err = (&oneRevision{events: 60}).archives(t, s)
	if failure := classify(err, state.JobSpec{}); !errors.Is(err, spool.ErrFull) || failure.Reason != v1beta2.ReasonRetrying || strings.Contains(failure.Message, "database has grown") {
		t.Errorf("error %v, the status shows %+v", err, failure)
	}
}

// A user deletes all keys of a large prefix in one transaction. A fixed limit would end the archive for good.
func TestALargeRevisionIsArchivedWithRoomOfTheSpool(t *testing.T) {
	s := spool.New(t.TempDir(), spool.Options{Limit: 1 << 30})
	c := &oneRevision{events: 60}
	if err := c.archives(t, s); err != nil {
		t.Fatal(err)
	}
	if used, _, _ := s.Usage(); used != 0 {
		t.Errorf("%d bytes are still reserved", used)
	}
	entries, err := os.ReadDir(s.Dir())
	if err != nil || len(entries) > 0 {
		t.Errorf("the spool has %v, %v", entries, err)
	}
}

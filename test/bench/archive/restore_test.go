package archive

import (
	"context"
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
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// BenchmarkRestoreFromArchive compares the restore of a base with the replay of many revisions and the restore of the result.
func BenchmarkRestoreFromArchive(b *testing.B) {
	mib, revisions := measure.Setting(b, "BENCH_MIB", 1024), measure.Setting(b, "BENCH_REVISIONS", 1_000_000)
	s := newStage(b, "--quota-backend-bytes=8589934592")
	url := s.etcd.Members[0].ClientURL
	measure.Fill(b, url, mib, 16<<10)
	a := s.archive(1)
	base := filepath.Join(b.TempDir(), "base.db")
	s.save(base)
	s.write(revisions)
	c := a.end()
	info, err := dbfile.Inspect(base)
	if err != nil {
		b.Fatal(err)
	}
	store, choice := s.newest(archive.Base{Key: base, ClusterID: s.clusterID(), Auth: s.auth(), Point: archive.Point{Revision: info.Revision, At: time.Now()}})

	began := time.Now()
	s.restore(base, info.Revision)
	alone := time.Since(began)
	whole := filepath.Join(b.TempDir(), "whole.db")
	s.copy(base, whole)
	began = time.Now()
	links := choice.Links
	result, err := replay.Replay(b.Context(), replay.Options{
		Path: whole, Revision: choice.Reached.Revision, Chain: choice.Chain, FallbackTTL: 60,
		Next: func(ctx context.Context) (*archive.Reader, error) {
			if len(links) == 0 {
				return nil, io.EOF
			}
			key := links[0].Key
			links = links[1:]
			return archive.OpenSegment(ctx, store, s.root(), key)
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	replayed := time.Since(began)
	s.restore(whole, result.Revision)
	both := time.Since(began)
	b.Logf("base of %d MiB: %s; replay of %d revisions in %d segments: %s; together %s; archiver %+v", mib, alone, result.Revision-result.Base, len(choice.Links), replayed, both, c)
	b.ReportMetric(both.Seconds()/alone.Seconds(), "with/without-replay")
	b.ReportMetric(float64(result.Revision-result.Base)/replayed.Seconds(), "revisions/s")
}

// root is that of the first archiver of the last process.
func (s *stage) root() string { return fmt.Sprintf("continuous-archive/%d/0/", s.archives) }

func (s *stage) clusterID() string {
	s.Helper()
	kv, err := clientv3.New(clientv3.Config{Endpoints: s.etcd.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		s.Fatal(err)
	}
	defer kv.Close()
	answer, err := kv.MemberList(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprintf("%016x", answer.Header.ClusterId)
}

func (s *stage) auth() auth.State {
	s.Helper()
	cluster, err := watch.Open(s.Context(), watch.Options{Endpoints: s.etcd.Endpoints()})
	if err != nil {
		s.Fatal(err)
	}
	defer cluster.Close()
	state, err := cluster.Auth(s.Context(), 0)
	if err != nil {
		s.Fatal(err)
	}
	return state
}

// newest returns how to reach the end of the archive.
func (s *stage) newest(base archive.Base) (objstore.Store, archive.Choice) {
	s.Helper()
	store, err := connect.Open(s.Context(), connect.Access{
		Location: storage.Location{Provider: "S3", Bucket: "bench", Endpoint: s.server.Endpoint, Region: s.server.Region, ForcePathStyle: true},
		Data:     map[string][]byte{"access-key-id": []byte(s.server.AccessKey), "secret-access-key": []byte(s.server.SecretKey)},
	})
	if err != nil {
		s.Fatal(err)
	}
	histories, err := archive.Read(s.Context(), store, s.root())
	if err != nil {
		s.Fatal(err)
	}
	links := histories[0].Links
	choice, err := archive.Select(histories, []archive.Base{base}, archive.Target{Revision: links[len(links)-1].Header.Last})
	if err != nil {
		s.Fatal(err)
	}
	return store, choice
}

// save writes a snapshot to a file.
func (s *stage) save(path string) {
	s.Helper()
	member, err := etcd.Open(etcd.Endpoint{URL: s.etcd.Members[0].ClientURL}, nil)
	if err != nil {
		s.Fatal(err)
	}
	defer member.Close()
	stream, _, err := member.Snapshot(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer stream.Close()
	s.fill(path, stream)
}

func (s *stage) copy(from, to string) {
	s.Helper()
	f, err := os.Open(from)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	s.fill(to, f)
}

func (s *stage) fill(path string, from io.Reader) {
	s.Helper()
	f, err := os.Create(path)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := io.Copy(f, from); err != nil {
		s.Fatal(err)
	}
	if err := f.Close(); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) restore(path string, revision int64) {
	s.Helper()
	if _, err := dbfile.TryRestore(s.Context(), dbfile.Trial{SnapshotPath: path, DataDir: filepath.Join(s.TempDir(), "data"), Revision: revision}); err != nil {
		s.Fatal(err)
	}
}

// write writes so many revisions as fast as etcd takes them.
func (s *stage) write(revisions int) {
	s.Helper()
	const writers = 64
	kv, err := clientv3.New(clientv3.Config{Endpoints: s.etcd.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		s.Fatal(err)
	}
	defer kv.Close()
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; i < revisions; i += writers {
				if _, err := kv.Put(s.Context(), fmt.Sprintf("/registry/leases/%04d", i%5000), fmt.Sprintf("%0256d", i)); err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// newStage starts an etcd, and a store whose requests are counted.
func newStage(b *testing.B, args ...string) *stage {
	s := &stage{B: b, etcd: servers.Etcd(b, servers.EtcdOptions{Args: args})}
	server, _ := measure.S3(b)
	s.server = server
	s.count(b, server.Endpoint)
	return s
}

package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/etcd/watch"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
	"github.com/etcd-suite/etcd-operator/test/bench/measure"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// maxLag is the default of an EtcdBackup.
const maxLag = 5 * time.Second

// The numbers of archivers of a process that has none.
const (
	none      = 0
	bareWatch = -1 // it watches all keys and discards the events
)

type stage struct {
	*testing.B
	etcd     *servers.EtcdCluster
	server   *servers.S3Server
	proxy    *servers.Faulty
	requests atomic.Int64
	archives int // processes so far
}

func (s *stage) count(b *testing.B, endpoint string) {
	s.proxy = servers.NewFaulty(b, endpoint, func(int, *http.Request) servers.Fault { s.requests.Add(1); return servers.Served })
}

// order is what a process of archivers is told.
type order struct {
	N         int
	Endpoints []string
	Location  storage.Location
	Data      map[string][]byte
	Dir, Root string
}

// cost is what a process of archivers has used.
type cost struct {
	CPU, Took                         time.Duration
	Anonymous                         int // bytes, the highest that was seen
	Requests, Segments, Events, Bytes int64
}

// process is a process of archivers under way.
type process struct {
	stage    *stage
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Scanner
	began    time.Time
	cpu      time.Duration
	requests int64
	peak     atomic.Int64
	stop     chan struct{}
}

// archive starts a process of n archivers, and waits until all of them watch.
func (s *stage) archive(n int) *process {
	s.Helper()
	s.archives++
	location := storage.Location{Provider: v1beta2.StorageS3, Bucket: "bench", Endpoint: s.proxy.URL, Region: s.server.Region, ForcePathStyle: true}
	text, err := json.Marshal(order{N: n, Endpoints: s.etcd.Endpoints(), Location: location, Dir: s.TempDir(), Root: fmt.Sprintf("continuous-archive/%d", s.archives), Data: map[string][]byte{
		"access-key-id": []byte(s.server.AccessKey), "secret-access-key": []byte(s.server.SecretKey),
	}})
	if err != nil {
		s.Fatal(err)
	}
	p := &process{stage: s, cmd: exec.CommandContext(s.Context(), os.Args[0]), stop: make(chan struct{})}
	p.cmd.Env, p.cmd.Stderr = append(os.Environ(), "BENCH_ARCHIVERS="+string(text)), os.Stderr
	p.in, _ = p.cmd.StdinPipe()
	out, _ := p.cmd.StdoutPipe()
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		s.Fatal(err)
	}
	if !p.out.Scan() || p.out.Text() != "ready" {
		s.Fatalf("the archivers did not start: %s", p.out.Text())
	}
	p.began, p.cpu, p.requests = time.Now(), measure.CPU(p.cmd.Process.Pid), s.requests.Load()
	go p.watch()
	return p
}

func (p *process) watch() {
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for {
		p.peak.Store(max(p.peak.Load(), int64(measure.Anonymous(p.cmd.Process.Pid))))
		select {
		case <-ticks.C:
		case <-p.stop:
			return
		}
	}
}

// end lets the archivers store what they have, and ends them.
func (p *process) end() cost {
	p.stage.Helper()
	c := cost{CPU: measure.CPU(p.cmd.Process.Pid) - p.cpu, Took: time.Since(p.began)}
	_ = p.in.Close()
	if !p.out.Scan() {
		p.stage.Fatal("the archivers ended without a report")
	}
	if err := json.Unmarshal(p.out.Bytes(), &c); err != nil {
		p.stage.Fatal(err)
	}
	close(p.stop)
	c.Anonymous, c.Requests = int(p.peak.Load()), p.stage.requests.Load()-p.requests
	if err := p.cmd.Wait(); err != nil {
		p.stage.Fatal(err)
	}
	return c
}

func (s *stage) reportCosts(b *testing.B, costs []cost, suffix string) {
	last := costs[len(costs)-1]
	b.ReportMetric(last.CPU.Seconds()/last.Took.Seconds()*100, "%-core"+suffix)
	b.ReportMetric(float64(last.Anonymous)/(1<<20), "MiB"+suffix)
	b.ReportMetric(float64(last.Requests)/float64(max(1, last.Segments)), "requests/segment")
	b.ReportMetric(float64(last.Bytes)/float64(max(1, last.Events)), "bytes/event")
}

func TestMain(m *testing.M) {
	if text := os.Getenv("BENCH_ARCHIVERS"); text != "" {
		if err := runArchivers(context.Background(), text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runArchivers is the process: archivers run until the input ends and everything is stored.
func runArchivers(ctx context.Context, text string) error {
	debug.SetGCPercent(50) // as in the operators
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	var all []*archiver.Archiver
	if o.N == bareWatch {
		if err := discard(ctx, o.Endpoints); err != nil {
			return err
		}
		o.N = none
	}
	first := make([]int64, o.N)
	for i := range o.N {
		a, head, err := begin(ctx, o, i)
		if err != nil {
			return err
		}
		all, first[i] = append(all, a), head
	}
	await(all, func(s archiver.Status) bool { return s.Stored.Revision > 0 && !s.Blocked })
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	await(all, func(s archiver.Status) bool { return s.Stored.Revision >= s.Received.Revision })
	c := map[string]int64{}
	for i, a := range all {
		s := a.Status()
		c["Segments"], c["Bytes"], c["Events"] = c["Segments"]+s.Segments, c["Bytes"]+s.Bytes, c["Events"]+s.Stored.Revision-first[i]
	}
	return json.NewEncoder(os.Stdout).Encode(c)
}

// discard reads all events of an etcd.
func discard(ctx context.Context, endpoints []string) error {
	kv, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	events := kv.Watch(ctx, "", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events
	go func() {
		for range events {
			continue
		}
	}()
	return nil
}

func await(all []*archiver.Archiver, met func(archiver.Status) bool) {
	for _, a := range all {
		for !met(a.Status()) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// begin starts one archiver with a connection and a store of its own, as backup-operator does. Its base is no real snapshot.
func begin(ctx context.Context, o order, i int) (*archiver.Archiver, int64, error) {
	cluster, err := watch.Open(ctx, watch.Options{Endpoints: o.Endpoints})
	if err != nil {
		return nil, 0, err
	}
	store, err := connect.Open(ctx, connect.Access{Location: o.Location, Data: o.Data})
	if err != nil {
		return nil, 0, err
	}
	head, err := cluster.Head(ctx)
	if err != nil {
		return nil, 0, err
	}
	users, err := cluster.Auth(ctx, 0)
	if err != nil {
		return nil, 0, err
	}
	a := archiver.New(archiver.Options{
		Cluster: cluster, Store: store, Root: fmt.Sprintf("%s/%d/", strings.TrimSuffix(o.Root, "/"), i), Dir: fmt.Sprintf("%s/%d", o.Dir, i),
		Encoder: codec.Encoder{Compression: codec.Zstd}, MaxLag: maxLag, MaxSpool: 16 << 20, Now: time.Now,
		TakeBase: func(context.Context, string) (archiver.Base, error) {
			return archiver.Base{Key: "base", ClusterID: head.ClusterID, Revision: head.Revision, At: time.Now().UTC(), Auth: users}, nil
		},
	})
	if err := os.MkdirAll(fmt.Sprintf("%s/%d", o.Dir, i), 0o700); err != nil {
		return nil, 0, err
	}
	go func() {
		for ctx.Err() == nil {
			if err := a.Run(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			time.Sleep(time.Second)
		}
	}()
	return a, head.Revision, nil
}

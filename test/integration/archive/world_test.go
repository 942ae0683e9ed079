package archive_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// record is what the cluster had at a revision.
type record struct {
	revision, compacted int64
	hash                uint32
	asked               time.Time // when the client began to write the revision
	acked               time.Time // when the client had the answer
}

// service archives the cluster of a world: archivers in this process, or processes of backup-operator.
type service interface {
	// archive runs until ctx ends. It kills and replaces archivers at random.
	archive(ctx context.Context, random *rand.Rand)
	// begun reports whether the archive has a timeline.
	begun() bool
	// stored returns the newest revision that is known to be archived.
	stored() int64
	// pause kills all archivers and lets none start until resume is called.
	pause() (resume func())
	// tested reports whether enough archivers were killed.
	tested() bool
	// report says what has happened.
	report() string
	// find returns how to reach a target, as the product finds it.
	find(ctx context.Context, target archive.Target) (plan, error)
}

// plan is how to reach a target.
type plan struct {
	archive.Choice
	base string // path of the base snapshot
}

// world is a cluster under a workload, and what was recorded.
type world struct {
	t        *testing.T
	cluster  *servers.EtcdCluster
	client   *clientv3.Client
	store    objstore.Store // in which no request fails
	root     string         // of the archive
	identity *age.X25519Identity
	duration time.Duration
	service  service

	began, ended time.Time

	mu   sync.Mutex
	recs map[int64]record
}

func newWorld(t *testing.T, cluster *servers.EtcdCluster, d time.Duration) *world {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), DialTimeout: 3 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &world{t: t, cluster: cluster, client: client, identity: identity, duration: d, recs: map[int64]record{}}
}

// encoder encodes segments with zstd and age.
func (w *world) encoder() codec.Encoder {
	return codec.Encoder{Compression: codec.Zstd, Recipients: []string{w.identity.Recipient().String()}}
}

// run runs the workload and everything that disturbs it, until all that was written is archived.
func (w *world) run(random *rand.Rand) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var group sync.WaitGroup
	seeds := [3]uint64{random.Uint64(), random.Uint64(), random.Uint64()}
	group.Go(func() { w.service.archive(ctx, rand.New(rand.NewPCG(seeds[0], 2))) }) // a test
	w.await("begin", w.service.begun)                                               // the store may have refused the first timeline after its base was taken
	w.began = time.Now()
	disturbed, stop := context.WithTimeout(ctx, w.duration+40*time.Second)
	defer stop()
	var disturbers sync.WaitGroup
	disturbers.Go(func() { w.killMembers(disturbed, rand.New(rand.NewPCG(seeds[1], 3))) }) // a test
	w.workload(disturbed, rand.New(rand.NewPCG(seeds[2], 4)))                              // a test
	stop()
	disturbers.Wait()
	w.ended = time.Now()
	last := w.records()[len(w.recs)-1].revision
	w.await(fmt.Sprintf("archive revision %d", last), func() bool { return w.service.stored() >= last })
	cancel()
	group.Wait()
	histories, err := archive.Read(w.t.Context(), w.store, w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	links := 0
	for _, h := range histories {
		links += len(h.Links)
	}
	w.t.Logf("%d revisions recorded up to %d in %s; %s; %d timelines, %d links", len(w.recs), last, w.ended.Sub(w.began).Round(time.Second), w.service.report(), len(histories), links)
}

func (w *world) await(what string, met func() bool) {
	w.t.Helper()
	deadline := time.After(40 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !met() {
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("the archivers did not %s in time: %s", what, w.service.report())
		}
	}
}

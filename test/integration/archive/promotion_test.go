package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/dbfile/dbfiletest"
	seedrequest "github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/seeder"
	"github.com/etcd-suite/etcd-operator/test/integration/fleet"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

var promotions = flag.Int("archive.promotions", 1, "the number of planned promotions, in turn from each version of etcd in the campaign")

// calmAfter is how long after the switchover was asked for backup-operator is killed.
const calmAfter = 30 * time.Second

// seedCommand is the first argument of this program as the seed of a cluster.
const seedCommand = "seed"

// seeding is what the process is started with.
type seeding struct {
	Credentials, Pod string
	Request          seedrequest.Request
}

func runSeed(text string) error {
	var o seeding
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s := seeder.Seeder{CredentialsDir: o.Credentials, PodDir: o.Pod, RetryFor: 10 * time.Second, Log: logr.Discard()}
	return s.Seed(context.Background(), o.Request)
}

// handedOver is a cluster whose place a standby takes. Backup-operator, the seed of the standby and requests to the store fail at random.
type handedOver struct {
	*replicas
	seeding
	calm  bool // the seed is not killed
	kills int
}

func newHandedOver(w *world, program fleet.Installed, faults func(int, *http.Request) servers.Fault) *handedOver {
	h := &handedOver{replicas: newReplicas(w, program, faults), seeding: seeding{Credentials: w.t.TempDir(), Pod: w.t.TempDir()}}
	for key, content := range h.secret {
		h.file(h.Credentials, key, content)
	}
	h.file(h.Credentials, v1beta2.AgeIdentityKey, []byte(w.identity.String()))
	from := h.source
	from.Key += "/" + h.namespace + "/" + from.Key + "/"
	from.Endpoint, from.Secret = servers.NewFaulty(w.t, from.Endpoint, faults).URL, "aws"
	h.Request = seedrequest.Request{
		Source: from, DataDir: filepath.Join(w.t.TempDir(), "data"), Name: "moved-0", PeerURL: "http://moved-0:2380", Token: "token-of-moved",
		Follow: seedrequest.Follow{Cluster: h.namespace + "/pit", As: h.namespace + "/moved"},
	}
	return h
}

func (h *handedOver) file(dir, name string, content []byte) {
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// seed runs the seed, one process after the other, until it has made the data directory. It kills each of them at random.
func (h *handedOver) seed(ctx context.Context, random *rand.Rand) {
	text, err := json.Marshal(h.seeding)
	if err != nil {
		h.t.Error(err)
	}
	for ctx.Err() == nil {
		life := time.Duration(300+random.IntN(4000)) * time.Millisecond
		if h.calm {
			life = time.Minute
		}
		limited, cancel := context.WithTimeout(ctx, life) // it is killed then
		out, err := exec.CommandContext(limited, os.Args[0], seedCommand, string(text)).CombinedOutput()
		killed := limited.Err() != nil
		cancel()
		switch {
		case err == nil:
			return
		case killed:
			h.kills++
		default: // the kubelet starts it again
			h.t.Logf("the seed has failed: %v: %s", err, out)
		}
	}
}

// handOver asks for the switchover, and returns the last revision of the source.
func (h *handedOver) handOver(ctx context.Context) int64 {
	h.file(h.Pod, seedrequest.PromoteFile, []byte(v1beta2.FollowPromotePlanned))
	key := types.NamespacedName{Namespace: h.namespace, Name: "pit"}
	series := &v1beta2.EtcdBackup{}
	series.Namespace, series.Name = key.Namespace, key.Name
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"continuous":{"switchover":true}}}`))
	if err := kubetest.Client(h.t).Patch(ctx, series, patch); err != nil {
		h.t.Error(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		err := kubetest.Client(h.t).Get(ctx, key, series)
		if on := series.Status.Switchover; err == nil && on != nil && on.Phase == v1beta2.SwitchoverPromoted {
			return on.Revision
		}
	}
	return 0
}

// writes writes at random until ctx ends, and returns the highest revision that etcd has acknowledged.
func (h *handedOver) writes(ctx context.Context, random *rand.Rand) (newest int64) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		if revision, err := h.write(limited, random); err == nil {
			newest = max(newest, revision)
		}
		cancel()
		if random.IntN(150) == 0 {
			h.compact(ctx, h.stored()-random.Int64N(100))
		}
	}
	return newest
}

// changeUsers changes the roles of etcd now and then before the switchover is asked for, and once after that.
func (h *handedOver) changeUsers(before, ctx context.Context, random *rand.Rand) {
	for i := 0; ctx.Err() == nil; i++ {
		select {
		case <-time.After(time.Duration(random.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		last := before.Err() != nil
		_, _ = h.client.RoleAdd(ctx, fmt.Sprintf("role-%d", i)) // a member may have been killed, or the fence may be there
		if last {
			return
		}
	}
}

// hasUsers compares users and roles of the standby with those of the source.
func (h *handedOver) hasUsers(sealed []byte) {
	h.t.Helper()
	info, err := dbfile.InspectReader(bytes.NewReader(sealed), int64(len(sealed)))
	if err != nil {
		h.t.Fatal(err)
	}
	want, err := h.client.AuthStatus(h.t.Context())
	if err != nil || info.Auth.Revision != want.AuthRevision {
		h.t.Errorf("the standby has the auth revision %d, and the source %+v, %v", info.Auth.Revision, want, err)
	}
}

// equal compares the database of the standby with each member of the source.
func (h *handedOver) equal(revision int64) {
	h.t.Helper()
	content, err := os.ReadFile(filepath.Join(h.Request.DataDir, "member", "snap", "db"))
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.t.TempDir(), "promoted.db")
	sealed := dbfiletest.Seal(content)
	if err := os.WriteFile(path, sealed, 0o600); err != nil {
		h.t.Fatal(err)
	}
	h.hasUsers(sealed)
	for i, endpoint := range h.cluster.Endpoints() {
		want, err := h.client.HashKV(h.t.Context(), endpoint, revision)
		if err != nil {
			h.t.Fatalf("ask %s for its hash: %v", endpoint, err)
		}
		got, err := dbfile.TryRestore(h.t.Context(), dbfile.Trial{
			SnapshotPath: path, DataDir: filepath.Join(h.t.TempDir(), fmt.Sprint("trial", i)), Revision: revision, CompactRevision: want.CompactRevision,
		})
		if err != nil || got.Hash != want.Hash || got.CompactRevision != want.CompactRevision {
			h.t.Errorf("the standby has the hash %08x at revision %d, compacted to %d, %v; %s has %08x, compacted to %d", got.Hash, revision, got.CompactRevision, err, endpoint, want.Hash, want.CompactRevision)
		}
	}
}

// Planned promotions of clusters that are written to, while backup-operator, the standby and requests to the store fail at random. What a user would lose is a write, a
// deletion, the lease of a key or a revision.
func TestAPlannedPromotionHasTheHashOfItsSource(t *testing.T) {
	program := fleet.Build(t, "backup-operator")
	versions := strings.Split(*minors, ",")
	for round := range *promotions {
		minor := versions[round%len(versions)]
		t.Run(fmt.Sprintf("etcd %s, round %d", minor, round+1), func(t *testing.T) {
			random := newRandom(t)
			w := newWorld(t, servers.Etcd(t, servers.EtcdOptions{Minor: minor, Size: 3}), 0)
			h := newHandedOver(w, program, unreliable(rand.New(rand.NewPCG(random.Uint64(), 5)))) // a test
			w.service = h
			h.promotion(random)
			if t.Failed() {
				t.Logf("end of the log of backup-operator:\n%s", program.Log())
			}
		})
	}
}

func (h *handedOver) promotion(random *rand.Rand) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 3*time.Minute)
	defer cancel()
	source := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(random.Uint64(), stream)) } // a test
	archiving, ends := context.WithCancel(ctx)
	var archivers, seeds, clients, disturbers sync.WaitGroup
	forArchive, forSeed, forClients, forMembers, forUsers := source(2), source(3), source(4), source(6), source(7)
	archivers.Go(func() { h.archive(archiving, forArchive) })
	h.await("begin", h.begun)
	seeds.Go(func() { h.seed(ctx, forSeed) })
	writing, stop := context.WithCancel(ctx)
	var acknowledged int64
	clients.Go(func() { acknowledged = h.writes(writing, forClients) })
	disturbed, calm := context.WithTimeout(ctx, time.Duration(2+random.IntN(6))*time.Second)
	defer calm()
	disturbers.Go(func() { h.killMembers(disturbed, forMembers) })
	clients.Go(func() { h.changeUsers(disturbed, writing, forUsers) })
	<-disturbed.Done()
	disturbers.Wait() // a member is not healthy behind the fence
	began := time.Now()
	// On a busy machine, no life of backup-operator may be long enough for the snapshot that a change of users needs. Clients can write until then.
	time.AfterFunc(calmAfter, ends)
	last := h.handOver(ctx)
	took := time.Since(began)
	seeds.Wait()
	stop()
	clients.Wait()
	ends()
	archivers.Wait()
	if ctx.Err() != nil {
		h.t.Fatalf("the promotion is not complete in time; %s", h.report())
	}
	if last == 0 || acknowledged > last {
		h.t.Errorf("etcd has acknowledged revision %d, and the source has ended with %d", acknowledged, last)
	}
	if _, err := h.client.Put(ctx, "after", "v"); err == nil {
		h.t.Error("the source takes writes beside the standby that became the cluster")
	}
	var promoted seedrequest.Promoted
	if err := json.Unmarshal([]byte(seeder.Promoted(h.Request.DataDir)), &promoted); err != nil || !promoted.Planned || promoted.Revision != last {
		h.t.Errorf("the standby reports %+v, %v, and the source has ended with revision %d", promoted, err, last)
	}
	h.equal(last)
	h.t.Logf("promoted at revision %d, %s after the switchover was asked for; the seed was killed %d times, %s", last, took.Round(time.Millisecond), h.kills, h.report())
}

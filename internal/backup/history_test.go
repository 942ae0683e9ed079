package backup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// history is a random history of one EtcdBackup: it takes snapshots, tests fail, its status is lost or an old one comes back, and its spec names
// another endpoint.
type history struct {
	*world
	*rand.Rand
	stores map[string]objstore.Store // by endpoint
	state  State
	old    []v1beta2.EtcdBackupStatus
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{world: newWorld(t), Rand: rand.New(rand.NewPCG(seed, 11)), stores: map[string]objstore.Store{}}
	for _, endpoint := range []string{"https://one.example.com", "https://two.example.com"} {
		store, err := file.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		h.stores[endpoint] = store
	}
	h.open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		return h.stores[a.Endpoint], nil
	}
	h.state = series(keep(2 + h.IntN(4)))
	h.moveTo("https://one.example.com")
	return h
}

func (h *history) moveTo(endpoint string) {
	h.state.Spec.S3 = &v1beta2.S3Source{Path: "bucket/dir", Endpoint: endpoint}
	h.state.Target, h.state.Problem = target(h.state.Namespace, h.state.Name, h.state.Spec)
	h.store = h.stores[endpoint]
}

// take takes a snapshot and reports it.
func (h *history) take(now time.Time) {
	h.t.Helper()
	h.now, h.state.Now = at(now), now
	r := h.attempt(h.state)
	if r.Failure != nil {
		h.t.Fatalf("%+v", r.Failure)
	}
	r.EndedAt = now
	recordSuccess(&h.state.Status, Attempt{Number: 1, StartedAt: now, Result: &r}, h.state)
	h.old = append(h.old, *h.state.Status.DeepCopy())
	if h.IntN(3) == 0 {
		result := []snapshot.Result{snapshot.Passed, snapshot.Failed}[h.IntN(2)]
		key := strings.TrimPrefix(h.state.Status.Snapshots[h.IntN(len(h.state.Status.Snapshots))].Path, "bucket/")
		if err := snapshot.WriteVerdict(h.t.Context(), h.store, key, snapshot.Verdict{Result: result}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// disturb changes what the operator knows.
func (h *history) disturb() {
	switch h.IntN(6) {
	case 0:
		h.state.Status = v1beta2.EtcdBackupStatus{}
	case 1:
		h.state.Status = *h.old[h.IntN(len(h.old))].DeepCopy()
	case 2:
		h.moveTo([]string{"https://one.example.com", "https://two.example.com"}[h.IntN(2)])
	}
}

// again returns what a run at the same time reports with a status. It finds the snapshot that was just taken.
func (h *history) again(status v1beta2.EtcdBackupStatus) Result {
	s := h.state
	s.Status = status
	return h.attempt(s)
}

// A status can be lost, or an old one can come back with a backup of Kubernetes. What it reports of the snapshots is in the store, so the next run
// reports the same as if nothing had happened, and deletes nothing more. After a change of the endpoint, no snapshot of the other store counts.
func TestTheStatusOfSnapshotsIsThatOfTheStore(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := newHistory(t, seed)
			for run := range 20 {
				h.take(t0.Add(time.Duration(run) * time.Hour))
				known := h.again(h.state.Status)
				lost := h.again(v1beta2.EtcdBackupStatus{})
				came := h.again(h.old[h.IntN(len(h.old))])
				if known.Failure != nil || lost.Failure != nil || came.Failure != nil || lost.Pruned+came.Pruned > 0 {
					t.Fatalf("run %d: %+v %+v %+v", run, known, lost, came)
				}
				if diff := cmp.Diff(known.Kept, lost.Kept); diff != "" {
					t.Fatalf("run %d: without a status, other snapshots are reported (-with +without):\n%s", run, diff)
				}
				if diff := cmp.Diff(known.Kept, came.Kept); diff != "" {
					t.Fatalf("run %d: with an old status, other snapshots are reported (-new +old):\n%s", run, diff)
				}
				h.disturb()
				if at, found := h.state.newest(); found && !h.has(h.state.Status.Snapshot.Path) {
					t.Fatalf("run %d: a snapshot of %s counts, which is in another store", run, at)
				}
			}
		})
	}
}

// has reports whether the store of the spec had a snapshot: it may be deleted by now, but the other store never had it.
func (h *history) has(path string) bool {
	for _, status := range h.old {
		for _, s := range status.Snapshots {
			if s.Path == path && status.SnapshotStore == h.state.Target.Store() {
				return true
			}
		}
	}
	return false
}

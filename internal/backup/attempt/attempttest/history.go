package attempttest

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage/connect"
)

// History is a random history of one EtcdBackup: it takes snapshots, tests fail, its status is lost or an old one comes back, and its spec names
// another endpoint.
type History struct {
	*World
	*rand.Rand
	stores map[string]objstore.Store // by endpoint
	State  state.State
	Old    []v1beta2.EtcdBackupStatus
}

// NewHistory returns a history of a series without any snapshot.
func NewHistory(t *testing.T, seed uint64) *History {
	h := &History{World: NewWorld(t), Rand: rand.New(rand.NewPCG(seed, 11)), stores: map[string]objstore.Store{}}
	for _, endpoint := range []string{"https://one.example.com", "https://two.example.com"} {
		store, err := file.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		h.stores[endpoint] = store
	}
	h.Open = func(_ context.Context, a connect.Access) (objstore.Store, error) {
		return h.stores[a.Endpoint], nil
	}
	h.State = statetest.Series(statetest.Keep(2 + h.IntN(4)))
	h.moveTo("https://one.example.com")
	return h
}

func (h *History) moveTo(endpoint string) {
	h.State.Spec.S3 = &v1beta2.S3Source{Path: "bucket/dir", Endpoint: endpoint}
	h.State.Target, h.State.Problem = state.TargetOf(h.State.Namespace, h.State.Name, h.State.Spec)
	h.Store = h.stores[endpoint]
}

// Take takes a snapshot and reports it.
func (h *History) Take(now time.Time) {
	h.T.Helper()
	h.Now, h.State.Now = statetest.At(now), now
	r := h.Attempt(h.State)
	if r.Failure != nil {
		h.T.Fatalf("%+v", r.Failure)
	}
	r.EndedAt = now
	state.RecordSuccess(&h.State.Status, state.Attempt{Number: 1, StartedAt: now, Result: &r}, h.State)
	h.Old = append(h.Old, *h.State.Status.DeepCopy())
	if h.IntN(3) == 0 {
		result := []snapshot.Result{snapshot.Passed, snapshot.Failed}[h.IntN(2)]
		key := strings.TrimPrefix(h.State.Status.Snapshots[h.IntN(len(h.State.Status.Snapshots))].Path, "bucket/")
		if err := snapshot.WriteVerdict(h.T.Context(), h.Store, key, snapshot.Verdict{Result: result}); err != nil {
			h.T.Fatal(err)
		}
	}
}

// Disturb changes what the operator knows.
func (h *History) Disturb() {
	switch h.IntN(6) {
	case 0:
		h.State.Status = v1beta2.EtcdBackupStatus{}
	case 1:
		h.State.Status = *h.Old[h.IntN(len(h.Old))].DeepCopy()
	case 2:
		h.moveTo([]string{"https://one.example.com", "https://two.example.com"}[h.IntN(2)])
	}
}

// Again returns what a run at the same time reports with a status. It finds the snapshot that was just taken.
func (h *History) Again(status v1beta2.EtcdBackupStatus) state.Result {
	s := h.State
	s.Status = status
	return h.Attempt(s)
}

// Has reports whether the store of the spec had a snapshot: it may be deleted by now, but the other store never had it.
func (h *History) Has(path string) bool {
	for _, status := range h.Old {
		for _, s := range status.Snapshots {
			if s.Path == path && status.SnapshotStore == h.State.Target.Store() {
				return true
			}
		}
	}
	return false
}

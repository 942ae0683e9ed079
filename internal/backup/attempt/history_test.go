package attempt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A status can be lost, or an old one can come back with a backup of Kubernetes. What it reports of the snapshots is in the store, so the next run
// reports the same as if nothing had happened, and deletes nothing more. After a change of the endpoint, no snapshot of the other store counts.
func TestTheStatusOfSnapshotsIsThatOfTheStore(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := attempttest.NewHistory(t, seed)
			for run := range 20 {
				h.Take(statetest.T0.Add(time.Duration(run) * time.Hour))
				known := h.Again(h.State.Status)
				lost := h.Again(v1beta2.EtcdBackupStatus{})
				came := h.Again(h.Old[h.IntN(len(h.Old))])
				if known.Failure != nil || lost.Failure != nil || came.Failure != nil || lost.Pruned+came.Pruned > 0 {
					t.Fatalf("run %d: %+v %+v %+v", run, known, lost, came)
				}
				if diff := cmp.Diff(known.Kept, lost.Kept); diff != "" {
					t.Fatalf("run %d: without a status, other snapshots are reported (-with +without):\n%s", run, diff)
				}
				if diff := cmp.Diff(known.Kept, came.Kept); diff != "" {
					t.Fatalf("run %d: with an old status, other snapshots are reported (-new +old):\n%s", run, diff)
				}
				h.Disturb()
				if at, found := h.State.Newest(); found && !h.Has(h.State.Status.Snapshot.Path) {
					t.Fatalf("run %d: a snapshot of %s counts, which is in another store", run, at)
				}
			}
		})
	}
}

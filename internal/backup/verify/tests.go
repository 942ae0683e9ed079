package verify

import (
	"context"
	"errors"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/replay"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// NewTester returns a Tester whose restore tests are processes.
func NewTester(c *clients.Clients, s *spool.Spool, limits queue.Tests) *Tester {
	return &Tester{Clients: c, Spool: s, Tests: limits, Drill: proof.RunRestoreTest, Replay: replay.Process{Memory: limits.Memory}.Replay, Hash: hashOf}
}

// Verify runs the restore test of a snapshot that was just taken, if the spec asks for it.
func (t *Tester) Verify(ctx context.Context, o state.JobSpec, store objstore.Store, result state.Result, progress *queue.Progress) (state.Result, error) {
	if !o.Verify {
		return result, nil
	}
	progress.LeaveLane() // the snapshot is in the store, so others need not wait for its test
	var err error
	if result.Drill, _, err = t.prove(ctx, o, store, *result.Snapshot, progress); err != nil {
		return state.Result{Untested: untestedSince(err, *result.Snapshot)}, err
	}
	if result.Drill.Result == v1beta2.DrillFailed {
		return state.Result{Drill: result.Drill}, failure.New(v1beta2.ReasonSnapshotCorrupt, plan.Unusable(*result.Drill))
	}
	return result, nil
}

// untestedSince returns when the snapshot was taken. It returns zero if a user can do something at once, such as to create a
// Secret: then the next attempt follows soon.
func untestedSince(err error, s v1beta2.Snapshot) time.Time {
	var known *failure.Error
	if errors.As(err, &known) {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, s.CreatedAt)
	return at
}

// TestNewest runs the restore test of the newest snapshot.
func (t *Tester) TestNewest(ctx context.Context, o state.JobSpec, progress *queue.Progress) (state.Result, error) {
	store, err := t.Store(ctx, o)
	if err != nil {
		return state.Result{}, err
	}
	if skipped, err := t.withoutIdentity(ctx, o); err != nil || skipped != nil {
		return state.Result{Proof: skipped}, err
	}
	drill, restored, err := t.prove(ctx, o, store, o.Newest, progress)
	if err != nil || drill.Result == v1beta2.DrillFailed || !o.Prove {
		return state.Result{Drill: drill}, err
	}
	proof, err := t.proveArchive(ctx, o, store, restored, progress)
	return state.Result{Drill: drill, Proof: proof}, err
}

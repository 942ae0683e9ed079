package restore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// A safety snapshot that waits in a queue says nothing about its members and its store. That time counted for its patience, so the first short fault after
// it had the restore continue without the snapshot. It waits for a worker, for space and for a check, and attempts before it may have ended for others.
func TestAnAttemptCountsWhatItLosesToOthers(t *testing.T) {
	fault := errors.New("etcdserver: leader changed")
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"a fault":           {fault, 10*time.Minute + 3*time.Second},
		"ended for another": {turns.ErrOthersWaited, 10*time.Minute + 7*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, gate := spool.New(t.TempDir(), spool.Options{Limit: 100}), turns.NewGate(1)
				space, err := s.Of("other").Reserve(t.Context(), 60)
				leave, entered := gate.Enter(t.Context(), "other")
				if err := errors.Join(err, entered); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, space.Release)
				time.AfterFunc(2*time.Second, leave)
				r := &saver{now: time.Now, access: &access{identity: allowing("good")}, save: func(ctx context.Context, _ state.SafetyOrder, _ SafetySecrets) (string, snapshot.Manifest, error) {
					share, err := s.Of("good").ReserveUrgent(ctx, 60) // a second
					if err != nil {
						return "", snapshot.Manifest{}, err
					}
					defer share.Release()
					leave, err := gate.Enter(ctx, "good") // a second
					if err != nil {
						return "", snapshot.Manifest{}, err
					}
					defer leave()
					<-time.After(4 * time.Second)
					return "", snapshot.Manifest{}, test.err
				}}
				order := state.SafetyOrder{Namespace: "good", Cluster: "example", Target: storage.Location{Provider: v1beta2.StorageS3, Bucket: "backups", Key: "safety-snapshots"}}
				key := worker.Key{Object: types.NamespacedName{Namespace: "good", Name: "restore"}}
				saved := r.saveOldData(t.Context(), key, attempt{order: order, asked: time.Now().Add(-time.Second), lost: 10 * time.Minute})
				if saved.Progress != state.ProofFailed || saved.Lost != test.want {
					t.Errorf("the attempt lost %s, want %s: %+v", saved.Lost, test.want, saved)
				}
			})
		})
	}
}

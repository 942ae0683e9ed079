package restore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
	"github.com/etcd-suite/etcd-operator/internal/storage"
	"github.com/etcd-suite/etcd-operator/internal/turns"
	"github.com/etcd-suite/etcd-operator/internal/worker"
)

// If these ends counted as failures of the member or of the store, the restore would continue without its safety snapshot five minutes after its seed was
// ready: most of them come later.
func TestASafetySnapshotThatEndsBecauseOfOthersIsMarkedSo(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		others bool
	}{
		"its space on the spool volume":       {fmt.Errorf("save snapshot x: %w, and this held space", turns.ErrOthersWaited), true},
		"its slot of the checks of databases": {fmt.Errorf("save snapshot x: %w: %w", dbfile.ErrNotChecked, turns.ErrOthersWaited), true},
		"space that others use":               {fmt.Errorf("save snapshot x: %w: another one waits", spool.ErrFull), true},
		"memory that others use":              {fmt.Errorf("save snapshot x: %w", objstore.ErrMemory), true},
		"a volume that is too small":          {fmt.Errorf("save snapshot x: %w", spool.ErrTooSmall), false},
		"a member that does not answer":       {errors.New("no member answers"), false},
	} {
		r := &saver{now: time.Now, access: &access{identity: allowing("ns")}, save: func(context.Context, state.SafetyOrder, SafetySecrets) (string, snapshot.Manifest, error) {
			return "", snapshot.Manifest{}, c.err
		}}
		target := storage.Location{Provider: v1beta2.StorageS3, Bucket: "backups", Key: "safety-snapshots"}
		key := worker.Key{Object: types.NamespacedName{Namespace: "ns", Name: "restore"}}
		saved := r.saveOldData(t.Context(), key, attempt{order: state.SafetyOrder{Namespace: "ns", Cluster: "example", Target: target}, asked: time.Now()})
		if saved.Progress != state.ProofFailed || saved.Others != c.others {
			t.Errorf("%s: %+v", name, saved)
		}
	}
}

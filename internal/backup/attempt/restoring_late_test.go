package attempt_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt"
	"github.com/etcd-suite/etcd-operator/internal/backup/attempt/attempttest"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// noticing calls deleted after each deletion.
type noticing struct {
	objstore.Store
	deleted func(key string)
}

func (n noticing) Delete(ctx context.Context, key string) error {
	defer n.deleted(key)
	return n.Store.Delete(ctx, key)
}

// A person lowered maxBackups by mistake, saw it and created an EtcdRestore of an old snapshot while 500 others were deleted, which takes minutes. The snapshot
// was deleted, because the operator had read the EtcdRestores before all deletions.
func TestTheSnapshotOfARestoreThatIsCreatedDuringDeletionsIsKept(t *testing.T) {
	attempt.PruneInPartsOf(t, 2)
	w, memory := attempttest.NewWorld(t), objstoretest.NewMemory()
	w.Store = memory
	var keys []string
	for hour := range 7 {
		w.Now = statetest.At(statetest.T0.Add(time.Duration(hour) * time.Hour))
		keys = append(keys, strings.TrimPrefix(w.Attempt(statetest.Series(statetest.Keep(10))).Snapshot.Path, "bucket/"))
	}
	api := apiWith(t)
	w.Secrets = api
	deletions := 0
	w.Store = noticing{memory, func(string) {
		if deletions++; deletions > 1 {
			return
		}
		spec := v1beta2.EtcdRestoreSpec{EtcdBackup: &v1beta2.BackupReference{Name: "b", Snapshot: keys[4]}}
		if err := api.Create(t.Context(), &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rescue"}, Spec: spec}); err != nil {
			t.Error(err)
		}
	}}
	w.Now = statetest.At(statetest.T0.Add(7 * time.Hour))
	r := w.Attempt(statetest.Series(statetest.Keep(1)))
	for i, key := range keys {
		if kept := slices.Contains(memory.Keys(), key); kept != (i == 4) {
			t.Errorf("snapshot %d is kept: %t", i, kept)
		}
	}
	if deletions == 0 || !strings.Contains(r.PruneProblem, "rescue") {
		t.Errorf("%d deletions, %s", deletions, r.PruneProblem)
	}
}

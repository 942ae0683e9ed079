package inventory

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// A base was compared with all timelines once for each EtcdRestore that waits and may begin with it. A tenant may have thousands of them.
func TestABaseThatManyRestoresMayChooseIsSelectedOnce(t *testing.T) {
	o := state.JobSpec{Namespace: "ns", Cluster: "c"}
	o.Target.Bucket = "bucket"
	var bases []archive.Base
	for n := range 10 {
		at := statetest.T0.Add(time.Duration(n) * time.Hour)
		bases = append(bases, archive.Base{Key: o.SeriesOf(1).Key(at, int64(n)), Point: archive.Point{Revision: int64(n), At: at}})
	}
	var restores []client.Object
	for n := range 100 {
		spec := v1beta2.EtcdRestoreSpec{
			BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket"}},
			Select: &v1beta2.SnapshotSelector{Time: &metav1.Time{Time: statetest.T0.Add(100 * time.Hour)}},
		}
		restores = append(restores, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("r", n)}, Spec: spec})
	}
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api := &clients.Clients{Secrets: fake.NewClientBuilder().WithScheme(scheme).WithObjects(restores...).Build()}
	selections, err := api.Selections(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if selected := choices(selections, bases); len(selected) != clients.Selectable {
		t.Errorf("%d bases are selected, and not %d", len(selected), clients.Selectable)
	}
}

package inventory

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// A cluster had 500 revisions, and was restored to an older one. It has few more since then, so an EtcdRestore to revision 450 takes that one from the timeline
// before. Its base is none of the newest three snapshots up to that revision, so the whole timeline was deleted while the EtcdRestore waited.
func TestWhatAWaitingRestoreNeedsOfAnEarlierHistoryIsKept(t *testing.T) {
	o := newKept(t, snapshot.Passed).O
	for name, before := range map[string]etcd.ID{"a restore, with another cluster ID": 1, "a recovery from a lost quorum, with the same one": 2} {
		var bases []archive.Base
		for hour, revision := range []int64{430, 440, 480, 310, 320, 330, 340} {
			id := before
			if hour > 2 {
				id = 2
			}
			at := statetest.T0.Add(time.Duration(hour) * time.Hour)
			bases = append(bases, archive.Base{Key: o.SeriesOf(id).Key(at, revision), Point: archive.Point{Revision: revision, At: at}, Stored: at})
		}
		slices.Reverse(bases)
		spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: o.Target.Bucket}}, Select: &v1beta2.SnapshotSelector{Revision: 450}}
		scheme, err := operator.Scheme()
		if err != nil {
			t.Fatal(err)
		}
		api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: "rescue"}, Spec: spec}).Build()
		selections, err := (&clients.Clients{Secrets: api}).Selections(t.Context(), o)
		if err != nil || len(selections) != 1 {
			t.Fatal(selections, err)
		}
		selected := SelectedBases(o, selections, bases, catalog.Known{})
		for _, history := range [][]int64{{430, 440}, {320, 330, 340}} {
			if !slices.ContainsFunc(selected, func(b archive.Base) bool { return slices.Contains(history, b.Point.Revision) }) {
				t.Errorf("%s: the archive is kept from %v on, and the EtcdRestore may begin with one of the revisions %d", name, selected, history)
			}
		}
	}
}

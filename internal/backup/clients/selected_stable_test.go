package clients

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// A cluster was recovered to revision 305 and has the revisions up to 340 again. An EtcdRestore to revision 350 needs the history before, which begins with the
// snapshot at 315. What the EtcdRestore may not choose was deleted, and with it the snapshot at 310, without which 315 seems to be one of the history after the
// recovery. So the next pass deleted 315, too.
func TestTheChoicesAreTheSameAfterAllOthersAreDeleted(t *testing.T) {
	series := snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}
	var names []string
	for hour, revision := range []int64{290, 300, 315, 480, 310, 320, 330, 340} {
		names = append(names, series.Key(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC), revision))
	}
	s := Selection{revision: 350, Point: true}
	first := s.Choices(Candidates(names))
	if !slices.Contains(first, names[2]) {
		t.Fatalf("%s is not among %q", names[2], first)
	}
	for _, key := range first {
		if left := s.Choices(Candidates(first)); !slices.Contains(left, key) {
			t.Errorf("%s may be chosen, and is deleted once the others are", key)
		}
	}
}

// Retention keeps the snapshot at 310, for example as the oldest one of a day. Among those that it deletes, the one at 315 then seemed to be one of the history after
// the recovery.
func TestASnapshotThatRetentionKeepsSeparatesTheHistories(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	o := state.JobSpec{Namespace: "ns", Cluster: "c"}
	o.Target.Bucket = "bucket"
	var names []string
	for hour, revision := range []int64{290, 300, 315, 310, 320, 330, 340} {
		names = append(names, o.SeriesOf(1).Key(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC), revision))
	}
	spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: "bucket"}}, Select: &v1beta2.SnapshotSelector{Revision: 350}}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "rescue"}, Spec: spec}).Build()
	deleted := slices.Concat(names[:3], names[4:])
	needs, err := (&Clients{Secrets: api}).Needs(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := needs.Unneeded(t.Context(), "bucket", deleted, names, func(string) bool { return true })
	if err != nil || slices.Contains(free, names[2]) {
		t.Errorf("%q may be deleted: %v", free, err)
	}
}

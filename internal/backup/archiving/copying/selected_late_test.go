package copying

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// The window was shortened, and 100,000 segments were to be deleted. That takes hours. An EtcdRestore to an old revision was created in between and waited for its
// Secret. The operator deleted all segments that no EtcdRestore had needed before, and the revision was lost.
func TestARestoreThatIsCreatedDuringALongPruningKeepsWhatItNeedsOfTheCopy(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).Build()
	b := newCopyBench(t)
	b.job.Secrets = api
	c := b.copying()
	c.prune.next = b.now.Add(time.Minute)
	b.steps(c)
	if len(c.prune.outdated) == 0 {
		t.Fatal("nothing is outdated in the second location")
	}
	b.now = b.now.Add(2 * time.Minute)
	spec := v1beta2.EtcdRestoreSpec{BackupStorageType: v1beta2.StorageS3, Storage: v1beta2.Storage{S3: &v1beta2.S3Source{Path: b.O.Copy.Bucket}}, Select: &v1beta2.SnapshotSelector{Revision: 7}}
	if err := api.Create(t.Context(), &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "late"}, Spec: spec}); err != nil {
		t.Fatal(err)
	}
	all := len(b.there())
	if b.steps(c); len(b.there()) != all {
		t.Errorf("%d of %d links are left in the second location", len(b.there()), all)
	}
}

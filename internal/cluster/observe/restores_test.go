package observe

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A pass reads only the EtcdRestores of its EtcdCluster from the cache. Without the index, the one of another EtcdCluster would not keep the volume that it names.
func TestTheEtcdRestoreOfAnotherEtcdClusterThatNamesAVolumeIsSeen(t *testing.T) {
	o, v := observerBeside(t)
	b := fake.NewClientBuilder().WithScheme(o.Client.Scheme())
	for _, index := range kubecache.Indexes() {
		b = b.WithIndex(index.Kind, kubecache.IndexCluster, index.Keys)
	}
	for name, claim := range map[string]string{"names-it": "old", "names-another": "older"} {
		r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
		r.Spec.EtcdCluster.Name, r.Spec.Volume = "other", &v1beta2.RestoreVolume{ClaimName: claim}
		b = b.WithObjects(r)
	}
	o.Client, o.Indexed = b.Build(), true
	plantest.Aside("old", 48*time.Hour)(&v.State)
	if err := o.observeRestores(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(v.RestoredVolumes, []string{"old"}) || v.Request != nil || v.RestorePending != "" {
		t.Errorf("restored are %v, for this EtcdCluster %+v, pending %q", v.RestoredVolumes, v.Request, v.RestorePending)
	}
}

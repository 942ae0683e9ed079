package clustertest

import (
	"cmp"
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// Beside returns the API of a namespace with EtcdCluster example and the given objects, and the first view of the cluster.
func Beside(t *testing.T, objects ...client.Object) (*view.KubeAPI, *view.View) {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid-example"}}
	cluster.Spec = v1beta2.EtcdClusterSpec{Size: 3, Version: "3.6.16"}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(cluster).WithObjects(cluster).WithObjects(objects...).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	v := &view.View{State: state.NewState(cluster), Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, Addresses: map[string]string{}, Classes: map[string]string{}}
	v.Now = plantest.Noon
	return &view.KubeAPI{Client: c, APIReader: c}, v
}

// Controlled is the metadata of an object in that namespace, which an EtcdCluster with that UID controls.
func Controlled(uid types.UID, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdCluster", Name: "example", UID: uid, Controller: ptr.To(true)}},
	}
}

// WithClock is an API server with a clock, which may refuse dry runs.
func WithClock(c client.Client, now time.Time, refused error) client.Client {
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			object.SetCreationTimestamp(metav1.NewTime(now))
			return cmp.Or(refused, c.Create(ctx, object, options...))
		},
	})
}

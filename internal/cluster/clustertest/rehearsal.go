package clustertest

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// Rehearsal is a cluster with one Pod behind an API server whose admission answers creations with answer.
type Rehearsal struct {
	API     *view.KubeAPI
	View    *view.View
	Created int
}

// RefusesStop makes the API server return answer if the Pod of the second member is deleted with options for which refuses is true.
// It counts the deleted Pods.
func RefusesStop(api *view.KubeAPI, answer error, refuses func([]client.DeleteOption) bool) (deleted *int) {
	deleted = new(int)
	api.Client = interceptor.NewClient(api.Client.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if !slices.Contains(options, client.DeleteOption(client.DryRunAll)) {
				*deleted++
			}
			if object.GetName() == plantest.NameOf(1) && refuses(options) {
				return answer
			}
			return c.Delete(ctx, object, options...)
		},
	})
	return deleted
}

// NewRehearsal returns a Rehearsal. It fails the test if an object is created that is no dry run of another name.
func NewRehearsal(t *testing.T, answer func(client.Object) error) *Rehearsal {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	s := State(plantest.Formed, plantest.Members(1))
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: 1}}
	on := &Rehearsal{View: &view.View{State: s, Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: plantest.NameOf(0), UID: "pod", OwnerReferences: []metav1.OwnerReference{{UID: s.UID, Controller: ptr.To(true)}},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: lifecycle.EtcdContainer, Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}}}
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod, cluster.DeepCopy()).Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
			on.Created++
			if len(options) != 1 || options[0] != client.CreateOption(client.DryRunAll) || object.GetName() == plantest.NameOf(0) {
				t.Errorf("%s is created with %v, want a dry run of another name", object.GetName(), options)
			}
			return answer(object)
		},
	})
	on.API = &view.KubeAPI{Client: api, APIReader: api}
	return on
}

// PodResource is the resource of Pods, for errors of the API server.
var PodResource = schema.GroupResource{Resource: "pods"}

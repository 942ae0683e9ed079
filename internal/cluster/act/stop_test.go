package act

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// Clients of a restored cluster waited two seconds for a leader that searched a successor among the stopping members.
func TestOfMembersThatAllStopTheLeaderIsTheLast(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid"}}
	v := &view.View{State: state.NewState(cluster), Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, m := range []state.Member{
		{Name: "a", Incarnation: 1, Pod: state.PodRunning}, {Name: "b", Incarnation: 1, Pod: state.PodRunning, Leader: true},
		{Name: "c", Incarnation: 1, Pod: state.PodStarting}, {Name: "gone", Incarnation: 1}, {Name: "seed", Incarnation: 2, Pod: state.PodRunning, Leader: true},
	} {
		v.Members = append(v.Members, m)
		builder.WithObjects(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: m.Name, UID: "uid", OwnerReferences: []metav1.OwnerReference{{UID: "uid", Controller: ptr.To(true)}},
		}})
	}
	var stopped []string
	api := interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			stopped = append(stopped, object.GetName())
			return c.Delete(ctx, object, options...)
		},
	})
	a := actorOf(&view.KubeAPI{Client: api, APIReader: api})
	if err := a.pods.stopMembers(t.Context(), v, 2); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "c", "b"}; !slices.Equal(stopped, want) {
		t.Errorf("stopped in the order %q, want %q", stopped, want)
	}
}

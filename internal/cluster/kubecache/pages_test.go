package kubecache

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
)

// A tenant had 100 large Pods beside an EtcdCluster, and restored it. The operator read all of them at once, ended for lack of memory, and healed
// no cluster.
func TestTheLargePodsOfATenantAreNotReadForARestore(t *testing.T) {
	pod := func(i int, owners []metav1.OwnerReference, annotation string, args []string) client.Object {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i), OwnerReferences: owners, Annotations: map[string]string{"a": annotation}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Args: args}}},
		}
	}
	own := []metav1.OwnerReference{{APIVersion: "v1", Kind: "EtcdCluster", Name: "c", UID: "uid", Controller: ptr.To(true)}}
	for name, test := range map[string]struct {
		count      int
		owners     []metav1.OwnerReference
		annotation string
		args       []string
		want       int
		refused    bool
	}{
		"Pods of others":                  {count: 100, args: []string{strings.Repeat("x", clustertest.Large)}},
		"members with large arguments":    {count: 10, owners: own, args: make([]string, clustertest.Large/3), want: 10},
		"members that are large together": {count: 20, owners: own, annotation: strings.Repeat("x", clustertest.Large), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &clustertest.LargeServer{}
			for i := range test.count {
				s.Objects = append(s.Objects, pod(i, test.owners, test.annotation, test.args))
			}
			l := &Lists{KubeAPI: &view.KubeAPI{APIReader: s.Reader(t)}, Gate: NewListGate()}
			var pods []corev1.Pod
			var err error
			heaptest.Holds(t, 4<<10, func() any {
				pods, err = l.LivePods(t.Context(), &view.View{State: state.State{Namespace: "ns", Name: "c", Incarnation: 1}, Cluster: &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}})
				return pods
			})
			if (err != nil) != test.refused || len(pods) != test.want {
				t.Errorf("%d Pods, error %v", len(pods), err)
			}
			if most := s.Most.Load(); most > (PageSize+1)*clustertest.Large {
				t.Errorf("one answer has %d KiB", most>>10)
			}
		})
	}
}

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// besideIndexed is beside with the indexes that the cache of a real operator has.
func besideIndexed(t *testing.T, objects ...client.Object) (*Reconciler, *view.View) {
	t.Helper()
	r, v := beside(t)
	b := fake.NewClientBuilder().WithScheme(r.Client.Scheme()).WithObjects(v.Cluster.DeepCopy()).WithObjects(objects...)
	for _, index := range kubecache.Indexes() {
		b = b.WithIndex(index.Kind, kubecache.IndexCluster, index.Keys)
	}
	c := b.Build()
	r.Client, r.APIReader, r.observer.Indexed = c, c, true
	return r, v
}

func TestAPodOrVolumeWithoutLabelsIsStillTheMembersAndGetsThemBack(t *testing.T) {
	second := clustertest.MemberName(2, 0)
	for name, object := range map[string]metav1.ObjectMeta{
		"without labels":                           clustertest.Controlled("uid-example", second, nil),
		"without the cluster's label":              clustertest.Controlled("uid-example", second, map[string]string{v1beta2.LabelApp: "etcd", v1beta2.LabelMember: second, v1beta2.LabelIncarnation: "2"}),
		"with the label of another cluster":        clustertest.Controlled("uid-example", second, map[string]string{v1beta2.LabelCluster: "other"}),
		"with the number of another incarnation":   clustertest.Controlled("uid-example", second, map[string]string{v1beta2.LabelCluster: "example", v1beta2.LabelIncarnation: "1"}),
		"without owner, labels and annotations":    {Namespace: "ns", Name: second},
		"without owner and with the cluster label": {Namespace: "ns", Name: second, Labels: map[string]string{v1beta2.LabelCluster: "example"}},
	} {
		for which, make := range map[string]func(*testing.T, ...client.Object) (*Reconciler, *view.View){"no index": beside, "an index": besideIndexed} {
			t.Run(name+", "+which, func(t *testing.T) {
				r, v := make(t, &corev1.Pod{ObjectMeta: object}, &corev1.PersistentVolumeClaim{ObjectMeta: object})
				v.ClusterID, v.Incarnation = plantest.SeedID, 2
				if err := r.observer.ObserveMembers(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				if len(v.Members) != 1 || v.Members[0].Incarnation != 2 || v.Members[0].Volume != state.VolumePresent || v.Members[0].Pod == state.PodNone {
					t.Fatalf("the members are %+v", v.Members)
				}
				if !v.Members[0].Unlabelled || !v.Members[0].VolumeUnlabelled {
					t.Fatalf("the loss is not seen: %+v", v.Members)
				}
				for _, volume := range []bool{false, true} {
					if err := r.actor.Act(t.Context(), v, steps.RestoreLabels{Name: second, Volume: volume}); err != nil {
						t.Fatal(err)
					}
				}
				v.Members = nil
				if err := r.observer.ObserveMembers(t.Context(), v); err != nil {
					t.Fatal(err)
				}
				if len(v.Members) != 1 || v.Members[0].Unlabelled || v.Members[0].VolumeUnlabelled {
					t.Errorf("the members are %+v", v.Members)
				}
			})
		}
	}
}

func TestPodsAndVolumesOfOthersAreNoMembers(t *testing.T) {
	first := plantest.NameOf(0)
	users := map[string]string{v1beta2.LabelCluster: "example"}
	labels := map[string]string{v1beta2.LabelCluster: "example", v1beta2.LabelApp: "etcd"}
	for name, object := range map[string]metav1.ObjectMeta{
		"an object of an earlier cluster":           clustertest.Controlled("uid-earlier", first, labels),
		"an orphan of an earlier cluster":           {Namespace: "ns", Name: state.InitialNames(state.State{Name: "example", UID: "uid-earlier"}, 1, 1)[0], Labels: labels},
		"an object of the user with a similar name": {Namespace: "ns", Name: "example-backup", Labels: users},
	} {
		r, v := besideIndexed(t, &corev1.Pod{ObjectMeta: object}, &corev1.PersistentVolumeClaim{ObjectMeta: object})
		if err := r.observer.ObserveMembers(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if left := state.IsForeign(v.State, "Pod", object.Name); left != (object.Labels[v1beta2.LabelApp] != "") {
			t.Errorf("%s: foreign objects are %+v", name, v.Foreign)
		}
		if len(v.Members) > 0 {
			t.Errorf("%s: the members are %+v", name, v.Members)
		}
	}
}

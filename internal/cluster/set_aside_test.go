package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

func TestAVolumeThatIsSetAsideIsNoMembersVolumeAnyMore(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid"}}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	look := func() *view {
		v := &view{State: plan.NewState(cluster), cluster: cluster, known: &remembered{}, addresses: map[string]string{}, classes: map[string]string{}}
		v.Now = now
		return v
	}
	owned := []metav1.OwnerReference{{UID: "uid", Controller: ptr.To(true)}}
	volume := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "uid-of-volume", OwnerReferences: owned, Labels: map[string]string{v1beta2.LabelCluster: "example"},
		}}
	}
	foreign := volume("foreign")
	foreign.OwnerReferences, foreign.Labels = nil, map[string]string{v1beta2.LabelReplacedOf: "example"}
	labelled := volume("labelled") // a person set the label on several volumes at once
	labelled.Labels[v1beta2.LabelReplacedOf] = "example"
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster.DeepCopy(), volume("old"), volume("new"), labelled, foreign).Build()
	r := &Reconciler{Client: api, APIReader: api}
	if err := r.act(t.Context(), look(), plan.SetAsideVolume{Name: "old"}); err != nil {
		t.Fatal(err)
	}
	var old corev1.PersistentVolumeClaim
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "old"}, &old); err != nil {
		t.Fatal(err)
	}
	old.Labels[v1beta2.LabelCluster] = "example" // a person puts it back
	if err := api.Update(t.Context(), &old); err != nil {
		t.Fatal(err)
	}
	v := look()
	if err := r.observeMembers(t.Context(), v); err != nil || len(v.Members) != 2 || v.Members[0].Name == "old" || v.Members[1].Name == "old" {
		t.Errorf("the members are %+v, error %v", v.Members, err)
	}
	if err := r.observeSetAside(t.Context(), v); err != nil || len(v.SetAside) != 1 || v.SetAside[0].Name != "old" || !v.SetAside[0].Since.Equal(now) {
		t.Errorf("set aside are %+v, error %v", v.SetAside, err)
	}
	for _, keep := range []bool{true, false} {
		if err := r.act(t.Context(), v, plan.KeepVolume{Name: "old", Keep: keep}); err != nil {
			t.Fatal(err)
		}
		v = look()
		if err := r.observeSetAside(t.Context(), v); err != nil || len(v.SetAside) != 1 || v.SetAside[0].Kept != keep {
			t.Errorf("set aside are %+v, error %v, want kept: %t", v.SetAside, err, keep)
		}
	}
	if err := r.act(t.Context(), v, plan.DeleteVolume{Name: "old"}); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "old"}, &corev1.PersistentVolumeClaim{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the volume is not deleted: %v", err)
	}
}

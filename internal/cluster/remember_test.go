package cluster

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// A pass that decided on a cache that was behind must not overwrite the newer status; but that a member was defragmented
// is told by the status alone. Lost was the time, and the event with it.
func TestADefragmentationIsRememberedThoughTheCacheWasBehind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1beta2.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	s := state(formed, members(3))
	object := &v1beta2.EtcdCluster{}
	object.Namespace, object.Name = s.Namespace, s.Name
	object.Status.MemberStatuses = []v1beta2.MemberStatus{{Name: nameOf(0)}, {Name: nameOf(1)}}
	object.Status.Reason = "newer"
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(object).WithObjects(object).Build()
	recorder := events.NewFakeRecorder(3)
	r := &Reconciler{Client: c, APIReader: c, Events: recorder}
	for _, step := range []Step{DefragmentMember{Name: nameOf(1), Why: v1beta2.ReasonDefragmenting}, DeletePod{Name: nameOf(0)}} {
		if err := r.remember(t.Context(), &view{State: s, cluster: object}, step); err != nil {
			t.Fatal(err)
		}
	}
	var got v1beta2.EtcdCluster
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), &got); err != nil {
		t.Fatal(err)
	}
	members := got.Status.MemberStatuses
	if members[0].DefragmentedAt != nil || members[1].DefragmentedAt == nil || !members[1].DefragmentedAt.Time.Equal(s.Now) {
		t.Errorf("members are %+v", members)
	}
	if got.Status.Reason != "newer" {
		t.Errorf("the newer status was overwritten: %+v", got.Status)
	}
	if told := len(recorder.Events); told != 1 {
		t.Errorf("%d events, want that of the defragmentation", told)
	}
}

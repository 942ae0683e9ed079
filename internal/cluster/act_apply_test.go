package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// beside returns a Reconciler in a namespace with EtcdCluster example and the given objects, and its first view.
func beside(t *testing.T, objects ...client.Object) (*Reconciler, *view) {
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
	v := &view{State: plan.NewState(cluster), cluster: cluster, known: &remembered{}, addresses: map[string]string{}, classes: map[string]string{}}
	v.Now = noon
	return &Reconciler{Client: c, APIReader: c}, v
}

// controlled is the metadata of an object in that namespace, which an EtcdCluster with that UID controls.
func controlled(uid types.UID, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "EtcdCluster", Name: "example", UID: uid, Controller: ptr.To(true)}},
	}
}

func TestAServiceOfTheUserIsNotTakenOver(t *testing.T) {
	users := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example-client"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}}}
	r, v := beside(t, users)
	if err := r.observeServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]plan.ForeignObject{{Kind: "Service", Name: "example-client"}}, v.Foreign); diff != "" {
		t.Errorf("foreign objects (-want +got):\n%s", diff)
	}
	step := plan.ApplyServices{Incarnation: 1, ClusterID: oldID}
	if err := r.act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	v.Foreign = nil // the cache had not seen it
	if err := r.act(t.Context(), v, step); !errors.Is(err, errForeign) {
		t.Errorf("got %v, want a refusal", err)
	}
	var after corev1.Service
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(users), &after); err != nil {
		t.Fatal(err)
	}
	if after.Spec.Selector["app"] != "shop" || len(after.OwnerReferences) > 0 {
		t.Errorf("the user's Service was changed: %+v", after)
	}
}

func TestTheServiceOfAnEarlierClusterIsWaitedFor(t *testing.T) {
	r, v := beside(t, &corev1.Service{ObjectMeta: controlled("uid-earlier", "example", nil)})
	if err := r.observeServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]plan.ForeignObject{{Kind: "Service", Name: "example", Leaving: true}}, v.Foreign); diff != "" {
		t.Errorf("foreign objects (-want +got):\n%s", diff)
	}
}

func TestServicesAreCreatedAndThenApplied(t *testing.T) {
	r, v := beside(t)
	for _, incarnation := range []int32{1, 2} {
		if err := r.act(t.Context(), v, plan.ApplyServices{Incarnation: incarnation, ClusterID: oldID}); err != nil {
			t.Fatal(err)
		}
		v.Services = plan.Services{}
		if err := r.observeServices(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if !v.Services.HeadlessCurrent || !v.Services.ClientCurrent || v.Services.ClientIncarnation != incarnation {
			t.Errorf("for incarnation %d the Services are %+v", incarnation, v.Services)
		}
	}
}

func TestTheBudgetOfTheUserIsNotTakenOver(t *testing.T) {
	users := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
	r, v := beside(t, users)
	if err := r.observeBudget(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if !v.IsForeign("PodDisruptionBudget", "example") {
		t.Errorf("foreign objects are %+v", v.Foreign)
	}
	if err := r.act(t.Context(), v, plan.ApplyBudget{Incarnation: 1, MinAvailable: 2}); !errors.Is(err, errForeign) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestAClusterOfAnEarlierReleaseGetsItsUIDWithoutLosingAnEndpoint(t *testing.T) {
	name := nameOf(0)
	pod := &corev1.Pod{ObjectMeta: controlled("uid-example", name, map[string]string{
		v1beta2.LabelApp: "etcd", v1beta2.LabelCluster: "example", v1beta2.LabelMember: name, v1beta2.LabelIncarnation: "1", labelVoter: "true",
	})}
	r, v := beside(t, pod)
	formed(&v.State)
	step := plan.ApplyServices{Incarnation: 1, ClusterID: oldID, WithoutUID: true}
	if err := r.act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	for pass := range 5 {
		v.State = plan.NewState(v.cluster)
		formed(&v.State)
		v.Now, v.Services = noon, plan.Services{}
		for _, observe := range []func(context.Context, *view) error{r.observeServices, r.observeMembers} {
			if err := observe(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		selects(t, r)
		v.Members[0].Volume = plan.VolumePresent
		if err := r.act(t.Context(), v, plan.Plan(v.State)); err != nil {
			t.Fatalf("pass %d: %v", pass, err)
		}
	}
	if v.Services.WithoutUID || !v.Services.ClientCurrent || !v.Services.HeadlessCurrent {
		t.Errorf("the Services are %+v", v.Services)
	}
}

// selects fails unless the client Service selects a Pod.
func selects(t *testing.T, r *Reconciler) {
	t.Helper()
	var service corev1.Service
	if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "example-client"}, &service); err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := r.Client.List(t.Context(), &pods, client.MatchingLabels(service.Spec.Selector)); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		t.Errorf("the client Service selects no Pod: %v", service.Spec.Selector)
	}
}

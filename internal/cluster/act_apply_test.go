package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

func TestAServiceOfTheUserIsNotTakenOver(t *testing.T) {
	users := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example-client"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "shop"}}}
	r, v := beside(t, users)
	if err := r.observer.ObserveServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]state.ForeignObject{{Kind: "Service", Name: "example-client"}}, v.Foreign); diff != "" {
		t.Errorf("foreign objects (-want +got):\n%s", diff)
	}
	step := steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}
	if err := r.actor.Act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	v.Foreign = nil // the cache had not seen it
	if err := r.actor.Act(t.Context(), v, step); !errors.Is(err, view.ErrForeign) {
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
	r, v := beside(t, &corev1.Service{ObjectMeta: clustertest.Controlled("uid-earlier", "example", nil)})
	if err := r.observer.ObserveServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]state.ForeignObject{{Kind: "Service", Name: "example", Leaving: true}}, v.Foreign); diff != "" {
		t.Errorf("foreign objects (-want +got):\n%s", diff)
	}
}

func TestServicesAreCreatedAndThenApplied(t *testing.T) {
	r, v := beside(t)
	for _, incarnation := range []int32{1, 2} {
		if err := r.actor.Act(t.Context(), v, steps.ApplyServices{Incarnation: incarnation, ClusterID: plantest.OldID}); err != nil {
			t.Fatal(err)
		}
		v.Services = state.Services{}
		if err := r.observer.ObserveServices(t.Context(), v); err != nil {
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
	if err := r.observer.ObserveBudget(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if !state.IsForeign(v.State, "PodDisruptionBudget", "example") {
		t.Errorf("foreign objects are %+v", v.Foreign)
	}
	if err := r.actor.Act(t.Context(), v, steps.ApplyBudget{Incarnation: 1, MinAvailable: 2}); !errors.Is(err, view.ErrForeign) {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestAClusterOfAnEarlierReleaseGetsItsUIDWithoutLosingAnEndpoint(t *testing.T) {
	name := plantest.NameOf(0)
	pod := &corev1.Pod{ObjectMeta: clustertest.Controlled("uid-example", name, map[string]string{
		v1beta2.LabelApp: "etcd", v1beta2.LabelCluster: "example", v1beta2.LabelMember: name, v1beta2.LabelIncarnation: "1", pods.LabelVoter: "true",
	})}
	pod.Spec.NodeName = "node-1" // one without a node waits for the scheduler
	r, v := beside(t, pod)
	plantest.Formed(&v.State)
	step := steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID, WithoutUID: true}
	if err := r.actor.Act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	for pass := range 5 {
		v.State = state.NewState(v.Cluster)
		plantest.Formed(&v.State)
		v.Now, v.Services = plantest.Noon, state.Services{}
		for _, observe := range []func(context.Context, *view.View) error{r.observer.ObserveServices, r.observer.ObserveMembers} {
			if err := observe(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		selects(t, r)
		v.Members[0].Volume = state.VolumePresent
		if err := r.actor.Act(t.Context(), v, plan.Plan(v.State)); err != nil {
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

// An old cache showed a cluster that had not formed yet. The operator changed its client Service to select no member,
// and removed the cluster ID.
func TestAServiceThatSelectsTheMembersIsNotChangedOnAnOldCache(t *testing.T) {
	r, v := beside(t)
	formed := steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}
	if err := r.actor.Act(t.Context(), v, formed); err != nil {
		t.Fatal(err)
	}
	if err := r.actor.Act(t.Context(), v, steps.ApplyServices{}); !errors.Is(err, view.ErrBehind) {
		t.Errorf("the Service is applied on an old cache: %v", err)
	}
	if err := r.observer.ObserveServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := r.actor.Act(t.Context(), v, formed); err != nil || v.Services.ClientClusterID != plantest.OldID {
		t.Errorf("a current cache: %v, %+v", err, v.Services)
	}
}

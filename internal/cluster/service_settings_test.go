package cluster

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
)

func TestSettingsOfTheClientServiceAreAppliedAndRemoved(t *testing.T) {
	r, v := beside(t)
	step := steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}
	policy := clustertest.FullService
	for _, asked := range []*v1beta2.ServicePolicy{&policy, {Annotations: map[string]string{"other": "one"}}, nil} {
		v.Spec.Service = asked
		if err := r.actor.Act(t.Context(), v, step); err != nil {
			t.Fatal(err)
		}
		v.Services = state.Services{}
		if err := r.observer.ObserveServices(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if !v.Services.ClientCurrent {
			t.Errorf("with %+v the Service is not current", asked)
		}
	}
	var service corev1.Service
	if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "example-client"}, &service); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{v1beta2.AnnotationClusterID: plantest.OldID}; !maps.Equal(service.Annotations, want) || service.Spec.Type != "" || service.Labels["team"] != "" {
		t.Errorf("after spec.service was removed the Service is %+v", service)
	}
}

func TestAnAnnotationRemovedFromTheClientServiceOfARestoredClusterIsPutBack(t *testing.T) {
	r, v := beside(t)
	v.ClusterID, v.Incarnation = plantest.SeedID, 2
	step := steps.ApplyServices{Incarnation: 2, ClusterID: plantest.SeedID, RestoreUID: "uid-back"}
	if err := r.actor.Act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	service := clientServiceOf(t, r.Client)
	delete(service.Annotations, v1beta2.AnnotationClusterID)
	if err := r.Client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if err := r.observer.ObserveServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := r.actor.Act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	if id := clientServiceOf(t, r.Client).Annotations[v1beta2.AnnotationClusterID]; id != plantest.SeedID {
		t.Errorf("the Service has the cluster ID %q", id)
	}
}

func clientServiceOf(t *testing.T, c client.Client) *corev1.Service {
	t.Helper()
	var service corev1.Service
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "example-client"}, &service); err != nil {
		t.Fatal(err)
	}
	return &service
}

// Otherwise the Service selects the Pods from before a restore, which are stopped: no client reaches the cluster.
func TestTheClientServiceFollowsARestoreThoughItsSettingsAreRefused(t *testing.T) {
	r, v := beside(t)
	v.ClusterID, v.Incarnation = plantest.OldID, 1
	v.Spec.Service = &v1beta2.ServicePolicy{Type: corev1.ServiceTypeNodePort}
	if err := r.actor.Act(t.Context(), v, steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}); err != nil {
		t.Fatal(err)
	}
	if err := r.observer.ObserveServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	v.Spec.Service = &v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferSameZone")}
	refuseService(t, r, "PreferSameZone")
	v.ClusterID, v.Incarnation = plantest.SeedID, 2
	err := r.actor.Act(t.Context(), v, steps.ApplyServices{Incarnation: 2, ClusterID: plantest.SeedID, RestoreUID: "uid-back"})
	if !failure.Skippable(v, "applyServices", steps.ApplyServices{}, err) || !strings.Contains(err.Error(), "spec.service") {
		t.Errorf("the refusal is reported as %v", err)
	}
	service := clientServiceOf(t, r.Client)
	if n, id := objects.ServedBy(service); n != 2 || id != plantest.SeedID {
		t.Errorf("after the switch the client Service selects incarnation %d of %s", n, id)
	}
	if service.Spec.Type != corev1.ServiceTypeNodePort {
		t.Errorf("the Service loses the settings that it had: type %q", service.Spec.Type)
	}
}

func TestAClusterFormsThoughTheSettingsOfItsClientServiceAreRefused(t *testing.T) {
	r, v := beside(t)
	v.Spec.Service = &v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferSameZone")}
	refuseService(t, r, "PreferSameZone")
	if err := r.actor.Act(t.Context(), v, steps.ApplyServices{}); err == nil {
		t.Fatal("the refusal is lost")
	}
	if err := r.observer.ObserveServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := r.actor.Act(t.Context(), v, steps.ApplyServices{}); !failure.Skippable(v, "applyServices", steps.ApplyServices{}, err) {
		t.Errorf("the cluster does not form: %v", err)
	}
}

// refuseService makes the API server refuse to apply an object that contains a word.
func refuseService(t *testing.T, r *Reconciler, word string) {
	t.Helper()
	watch, ok := r.Client.(client.WithWatch)
	if !ok {
		t.Fatal("the fake client does not watch")
	}
	r.Client = interceptor.NewClient(watch, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if strings.Contains(pods.Text(object), word) {
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "example-client", nil)
			}
			return c.Apply(ctx, object, options...)
		},
	})
}

// Kubernetes 1.30 drops trafficDistribution. Without this, it is set again and again, and an admission webhook is blamed.
func TestAFieldThatKubernetesDropsIsNotSetAgain(t *testing.T) {
	want := objects.ClientService(clustertest.State(plantest.Formed, clustertest.WithService(v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferClose")})), steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID})
	have := want.DeepCopy()
	have.Spec.TrafficDistribution = nil
	if !objects.SameService(want, have) {
		t.Error("the Service is applied again")
	}
	have.Spec.TrafficDistribution = ptr.To("PreferSameNode")
	if objects.SameService(want, have) {
		t.Error("another value is kept")
	}
}

// Kubernetes 1.30 drops trafficDistribution. Without this, the status is Ready, and nothing reports that the setting has no effect.
func TestASettingOfTheClientServiceThatKubernetesDropsIsReported(t *testing.T) {
	r, v := beside(t)
	v.ClusterID, v.Incarnation, v.Spec.Service = plantest.OldID, 1, &v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferClose")}
	if err := r.actor.Act(t.Context(), v, steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}); err != nil {
		t.Fatal(err)
	}
	for _, drops := range []bool{false, true} {
		if drops {
			service := clientServiceOf(t, r.Client)
			service.Spec.TrafficDistribution = nil
			if err := r.Client.Update(t.Context(), service); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.observer.ObserveServices(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if !v.Services.ClientCurrent || v.Services.TrafficDropped != drops {
			t.Errorf("after it was dropped (%t): current %t, reported %t", drops, v.Services.ClientCurrent, v.Services.TrafficDropped)
		}
	}
}

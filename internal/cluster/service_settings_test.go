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
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

var fullService = v1beta2.ServicePolicy{
	Type:                     corev1.ServiceTypeLoadBalancer,
	Labels:                   map[string]string{"team": "storage"},
	Annotations:              map[string]string{"lb.example/internal": "true"},
	LoadBalancerClass:        ptr.To("internal"),
	LoadBalancerSourceRanges: []string{"10.0.0.0/8"},
	TrafficDistribution:      ptr.To("PreferClose"),
	ExternalTrafficPolicy:    corev1.ServiceExternalTrafficPolicyLocal,
}

func withService(p v1beta2.ServicePolicy) change { return func(s *plan.State) { s.Spec.Service = &p } }

func TestTheClientServiceIsComparedWithWhatTheSpecAsked(t *testing.T) {
	step := plan.ApplyServices{Incarnation: 1, ClusterID: oldID}
	full, bare := clientService(state(formed, withService(fullService)), step), clientService(state(formed), step)
	// What the API server and the controllers of clouds fill in.
	filled := full.DeepCopy()
	filled.Spec.ClusterIP, filled.Spec.HealthCheckNodePort, filled.Spec.Ports[0].NodePort = "10.96.0.7", 30001, 30002
	filled.Spec.SessionAffinity, filled.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceAffinityNone, ptr.To(true)
	filled.Annotations["cloud.example/id"] = "lb-1"
	both := filled.DeepCopy() // the recipe of docs/install.md
	both.Spec.IPFamilyPolicy, both.Spec.IPFamilies = ptr.To(corev1.IPFamilyPolicyPreferDualStack), []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	both.Spec.ClusterIPs = []string{"10.96.0.7", "fd00::7"}
	changed := filled.DeepCopy()
	changed.Spec.Type = corev1.ServiceTypeClusterIP
	for name, test := range map[string]struct {
		want, have *corev1.Service
		same       bool
	}{
		"others filled in fields":          {full, filled, true},
		"both IP families were set":        {full, both, true},
		"a person changed the type":        {full, changed, false},
		"spec.service was removed":         {bare, filled, false},
		"spec.service was not applied yet": {full, bare, false},
		"there is no spec.service":         {bare, bare, true},
	} {
		t.Run(name, func(t *testing.T) {
			if same := sameService(test.want, test.have); same != test.same {
				t.Errorf("the same: %t, want %t", same, test.same)
			}
		})
	}
}

func TestSettingsOfTheUserDoNotReplaceThoseOfTheOperator(t *testing.T) {
	stored := v1beta2.ServicePolicy{Labels: map[string]string{v1beta2.LabelApp: "x"}, Annotations: map[string]string{v1beta2.AnnotationClusterID: "x"}}
	service := clientService(state(formed, withService(stored)), plan.ApplyServices{Incarnation: 1, ClusterID: oldID})
	if service.Labels[v1beta2.LabelApp] != v1beta2.AppName || service.Annotations[v1beta2.AnnotationClusterID] != oldID {
		t.Errorf("labels %v, annotations %v", service.Labels, service.Annotations)
	}
}

func TestSettingsOfTheClientServiceAreAppliedAndRemoved(t *testing.T) {
	r, v := beside(t)
	step := plan.ApplyServices{Incarnation: 1, ClusterID: oldID}
	policy := fullService
	for _, asked := range []*v1beta2.ServicePolicy{&policy, {Annotations: map[string]string{"other": "one"}}, nil} {
		v.Spec.Service = asked
		if err := r.act(t.Context(), v, step); err != nil {
			t.Fatal(err)
		}
		v.Services = plan.Services{}
		if err := r.observeServices(t.Context(), v); err != nil {
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
	if want := map[string]string{v1beta2.AnnotationClusterID: oldID}; !maps.Equal(service.Annotations, want) || service.Spec.Type != "" || service.Labels["team"] != "" {
		t.Errorf("after spec.service was removed the Service is %+v", service)
	}
}

func TestAnAnnotationRemovedFromTheClientServiceOfARestoredClusterIsPutBack(t *testing.T) {
	r, v := beside(t)
	v.ClusterID, v.Incarnation = seedID, 2
	step := plan.ApplyServices{Incarnation: 2, ClusterID: seedID, RestoreUID: "uid-back"}
	if err := r.act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	service := clientServiceOf(t, r.Client)
	delete(service.Annotations, v1beta2.AnnotationClusterID)
	if err := r.Client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if err := r.observeServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := r.act(t.Context(), v, step); err != nil {
		t.Fatal(err)
	}
	if id := clientServiceOf(t, r.Client).Annotations[v1beta2.AnnotationClusterID]; id != seedID {
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
	v.ClusterID, v.Incarnation = oldID, 1
	v.Spec.Service = &v1beta2.ServicePolicy{Type: corev1.ServiceTypeNodePort}
	if err := r.act(t.Context(), v, plan.ApplyServices{Incarnation: 1, ClusterID: oldID}); err != nil {
		t.Fatal(err)
	}
	if err := r.observeServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	v.Spec.Service = &v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferSameZone")}
	refuseService(t, r, "PreferSameZone")
	v.ClusterID, v.Incarnation = seedID, 2
	err := r.act(t.Context(), v, plan.ApplyServices{Incarnation: 2, ClusterID: seedID, RestoreUID: "uid-back"})
	if !skippable(v, "applyServices", plan.ApplyServices{}, err) || !strings.Contains(err.Error(), "spec.service") {
		t.Errorf("the refusal is reported as %v", err)
	}
	service := clientServiceOf(t, r.Client)
	if n, id := servedBy(service); n != 2 || id != seedID {
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
	if err := r.act(t.Context(), v, plan.ApplyServices{}); err == nil {
		t.Fatal("the refusal is lost")
	}
	if err := r.observeServices(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if err := r.act(t.Context(), v, plan.ApplyServices{}); !skippable(v, "applyServices", plan.ApplyServices{}, err) {
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
			if strings.Contains(text(object), word) {
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "example-client", nil)
			}
			return c.Apply(ctx, object, options...)
		},
	})
}

// Kubernetes 1.30 drops trafficDistribution. Without this, it is set again and again, and an admission webhook is blamed.
func TestAFieldThatKubernetesDropsIsNotSetAgain(t *testing.T) {
	want := clientService(state(formed, withService(v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferClose")})), plan.ApplyServices{Incarnation: 1, ClusterID: oldID})
	have := want.DeepCopy()
	have.Spec.TrafficDistribution = nil
	if !sameService(want, have) {
		t.Error("the Service is applied again")
	}
	have.Spec.TrafficDistribution = ptr.To("PreferSameNode")
	if sameService(want, have) {
		t.Error("another value is kept")
	}
}

// Kubernetes 1.30 drops trafficDistribution. Without this, the status is Ready, and nothing reports that the setting has no effect.
func TestASettingOfTheClientServiceThatKubernetesDropsIsReported(t *testing.T) {
	r, v := beside(t)
	v.ClusterID, v.Incarnation, v.Spec.Service = oldID, 1, &v1beta2.ServicePolicy{TrafficDistribution: ptr.To("PreferClose")}
	if err := r.act(t.Context(), v, plan.ApplyServices{Incarnation: 1, ClusterID: oldID}); err != nil {
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
		if err := r.observeServices(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if !v.Services.ClientCurrent || v.Services.TrafficDropped != drops {
			t.Errorf("after it was dropped (%t): current %t, reported %t", drops, v.Services.ClientCurrent, v.Services.TrafficDropped)
		}
	}
}

package cluster

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	changed := filled.DeepCopy()
	changed.Spec.Type = corev1.ServiceTypeClusterIP
	for name, test := range map[string]struct {
		want, have *corev1.Service
		same       bool
	}{
		"with what others filled in":      {full, filled, true},
		"after somebody changed the type": {full, changed, false},
		"after spec.service was removed":  {bare, filled, false},
		"before spec.service was applied": {full, bare, false},
		"without spec.service":            {bare, bare, true},
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

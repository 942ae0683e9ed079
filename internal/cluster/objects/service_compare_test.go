package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestTheClientServiceIsComparedWithWhatTheSpecAsked(t *testing.T) {
	step := steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}
	full, bare := ClientService(clustertest.State(plantest.Formed, clustertest.WithService(clustertest.FullService)), step), ClientService(clustertest.State(plantest.Formed), step)
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
			if same := SameService(test.want, test.have); same != test.same {
				t.Errorf("the same: %t, want %t", same, test.same)
			}
		})
	}
}

func TestSettingsOfTheUserDoNotReplaceThoseOfTheOperator(t *testing.T) {
	stored := v1beta2.ServicePolicy{Labels: map[string]string{v1beta2.LabelApp: "x"}, Annotations: map[string]string{v1beta2.AnnotationClusterID: "x"}}
	service := ClientService(clustertest.State(plantest.Formed, clustertest.WithService(stored)), steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID})
	if service.Labels[v1beta2.LabelApp] != v1beta2.AppName || service.Annotations[v1beta2.AnnotationClusterID] != plantest.OldID {
		t.Errorf("labels %v, annotations %v", service.Labels, service.Annotations)
	}
}

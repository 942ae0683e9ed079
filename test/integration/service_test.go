package integration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// patchSpec patches the spec of a cluster, and waits until the operator has seen it.
func patchSpec(t *testing.T, c *v1beta2.EtcdCluster, patch string) {
	t.Helper()
	if err := kubetest.Client(t).Patch(t.Context(), c, client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+patch+`}`))); err != nil {
		t.Fatal(err)
	}
	kubetest.Await(t, c, "show its newest generation", func(c *v1beta2.EtcdCluster) bool { return c.Status.ObservedGeneration == c.Generation })
}

func TestTheClientServiceChangesInPlaceAndKeepsWhatOthersSet(t *testing.T) {
	namespace := kubetest.Namespace(t)
	operate(t, namespace)
	asked := newCluster(namespace, "a", nil)
	asked.Spec.Service = &v1beta2.ServicePolicy{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, Annotations: map[string]string{"lb.example/internal": "true"}}
	kubetest.Create(t, asked)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-client"}}
	kubetest.Await(t, service, "become a load balancer with a port of the nodes", func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.Ports[0].NodePort != 0 && s.Spec.HealthCheckNodePort != 0 && s.Annotations["lb.example/internal"] == "true"
	})
	if err := kubetest.Client(t).Patch(t.Context(), service, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"cloud.example/id":"lb-1"}},"spec":{"ipFamilyPolicy":"PreferDualStack"}}`))); err != nil {
		t.Fatal(err)
	}
	before := service.DeepCopy()

	patchSpec(t, asked, `{"size":3}`)
	kubetest.Await(t, service, "exist", func(*corev1.Service) bool { return true })
	if service.ResourceVersion != before.ResourceVersion {
		t.Errorf("the operator wrote the Service although nothing was asked of it:\n%s", kubetest.YAML(service))
	}

	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.10"}}
	if err := kubetest.Client(t).Status().Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	kubetest.Await(t, asked, "show the address of the load balancer", func(c *v1beta2.EtcdCluster) bool {
		return c.Status.Endpoints != nil && slices.Equal(c.Status.Endpoints.External, []string{"http://192.0.2.10:2379"})
	})
	patchSpec(t, asked, `{"service":null}`)
	kubetest.Await(t, asked, "show no address outside of Kubernetes", func(c *v1beta2.EtcdCluster) bool {
		return len(c.Status.Endpoints.External) == 0 && slices.Equal(c.Status.Endpoints.Internal, []string{"http://a-client." + namespace + ".svc:2379"})
	})
	kubetest.Await(t, service, "lose what spec.service set", func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeClusterIP && s.Annotations["lb.example/internal"] == "" && s.Spec.Ports[0].NodePort == 0
	})
	if service.Spec.ClusterIP != before.Spec.ClusterIP || service.Annotations["cloud.example/id"] != "lb-1" || service.UID != before.UID ||
		*service.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyPreferDualStack {
		t.Errorf("the operator changed what others set:\n%s", kubetest.YAML(service))
	}
}

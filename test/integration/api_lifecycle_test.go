package integration

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestEtcdClusterAllowsOnlySafeChanges(t *testing.T) {
	const claim = "{size: 3, pod: {persistentVolumeClaimSpec: {resources: {requests: {storage: 10Gi}}}}}"
	namespace := kubetest.Namespace(t)
	for name, test := range map[string]struct{ spec, patch, refusal string }{
		"a volume grows":                     {claim, `{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":"11Gi"}}}}}`, ""},
		"a volume is written otherwise":      {claim, `{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":"10240Mi"}}}}}`, ""},
		"a volume shrinks":                   {claim, `{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":"9Gi"}}}}}`, "a volume cannot shrink"},
		"another version in the sleep":       {"{size: 3, version: 3.6.15, hibernate: true}", `{"version":"3.6.16"}`, "cannot change while the cluster hibernates"},
		"another version with the wake-up":   {"{size: 3, version: 3.6.15, hibernate: true}", `{"version":"3.6.16","hibernate":false}`, ""},
		"to sleep with emptyDir":             {"{size: 3, pod: {emptyDir: {}}}", `{"hibernate":true}`, "pod.emptyDir loses its data with its Pod"},
		"a size in the sleep":                {"{size: 3, hibernate: true}", `{"size":5}`, ""},
		"a volume's size for the first time": {"{size: 3}", `{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":"1Gi"}}}}}`, ""},
		"another version under one digest":   {"{size: 3, version: 3.6.15, image: {digest: '" + digest("a") + "'}}", `{"version":"3.6.16"}`, "image.digest belongs to the previous version"},
		"another version with its digest":    {"{size: 3, version: 3.6.15, image: {digest: '" + digest("a") + "'}}", `{"version":"3.6.16","image":{"digest":"` + digest("b") + `"}}`, ""},
		"another image of the same version":  {"{size: 3, version: 3.6.15, image: {digest: '" + digest("a") + "'}}", `{"image":{"digest":"` + digest("b") + `"}}`, ""},
		"repository becomes image":           {"{size: 3, repository: mirror/etcd}", `{"repository":null,"image":{"repository":"mirror/etcd"}}`, ""},
		"another class of load balancer":     {"{size: 3, service: {type: LoadBalancer}}", `{"service":{"loadBalancerClass":"b"}}`, "Kubernetes cannot change the class"},
		"a Service becomes a load balancer":  {"{size: 3, service: {type: ClusterIP}}", `{"service":{"type":"LoadBalancer","loadBalancerClass":"b"}}`, ""},
		"a volume smaller than the quota":    {"{size: 3, etcd: {quotaBackendBytes: 8Gi}}", `{"pod":{"persistentVolumeClaimSpec":{"resources":{"requests":{"storage":"1Gi"}}}}}`, "more than a member's volume holds"},
	} {
		t.Run(name, func(t *testing.T) {
			made := object(t, "EtcdCluster", namespace, "e"+strings.ToLower(strings.NewReplacer(" ", "-", "'", "").Replace(name)), test.spec)
			kubetest.Create(t, made)
			err := kubetest.Client(t).Patch(t.Context(), made, client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+test.patch+`}`)))
			if (test.refusal == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), test.refusal)) {
				t.Errorf("%v, want %q", err, test.refusal)
			}
		})
	}
}

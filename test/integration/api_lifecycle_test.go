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

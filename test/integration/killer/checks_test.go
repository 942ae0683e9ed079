package killer_test

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// TestMembersCheckTheirDataIfTheSpecHasTheVariableOfBefore36 reads from the real etcd whether its checks are on. The variable is widely
// advised for 3.5. In 3.6 and 3.7 it took the place of the operator's feature gates, and no member checked its data.
func TestMembersCheckTheirDataIfTheSpecHasTheVariableOfBefore36(t *testing.T) {
	t.Parallel()
	for _, version := range []string{newer, newest} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, v1beta2.EtcdClusterSpec{
				Size: 1, Version: version,
				Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", Value: "true"}}},
			})
			kubetest.Create(t, b.cluster)
			b.operate(&killer.Count{}, "form a cluster", b.isReady)
			var pods corev1.PodList
			if err := b.client.List(t.Context(), &pods, client.InNamespace(b.cluster.Namespace)); err != nil {
				t.Fatal(err)
			}
			for _, pod := range pods.Items {
				said := metricsOf(t, pod)
				for _, gate := range []string{"InitialCorruptCheck", "CompactHashCheck"} {
					if !strings.Contains(said, `etcd_server_feature_enabled{name="`+gate+`",stage="ALPHA"} 1`) {
						t.Errorf("etcd %s does not check its data: %s", version, matching(said, "etcd_server_feature_enabled"))
					}
				}
			}
			if len(pods.Items) == 0 {
				t.Error("there is no member")
			}
		})
	}
}

func metricsOf(t *testing.T, pod corev1.Pod) string {
	t.Helper()
	address := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(v1beta2.MetricsPort))) + "/metrics"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(said)
}

func matching(text, word string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

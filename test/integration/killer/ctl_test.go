package killer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin"
	"github.com/etcd-suite/etcd-operator/test/integration/killer"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// The README writes and reads its first key by kubectl etcd ctl, in a cluster with TLS. If the flags or the certificate in the member's Pod were
// not enough for etcdctl, the first thing that a new user does with a cluster would fail.
func TestThePluginReachesAClusterWithTLSByWhatIsInTheMember(t *testing.T) {
	for name, policy := range map[string]v1beta2.TLSPolicy{"": {}, "that accepts its own clients only": {AcceptClients: v1beta2.AcceptClientsOfCluster}} {
		t.Run("a cluster "+name, func(t *testing.T) {
			policy.Managed = &v1beta2.ManagedTLS{}
			b := newBench(t, v1beta2.EtcdClusterSpec{Size: 1, Version: newer, TLS: &policy})
			kubetest.Create(t, b.cluster)
			b.operate(&killer.Count{}, "become Ready", b.isReady)
			b.ctl("put", "greeting", "hello")
			if got := b.ctl("get", "greeting", "--print-value-only"); got != "hello\n" {
				t.Errorf("etcdctl returns %q", got)
			}
		})
	}
}

// ctl runs etcdctl with the arguments that the plugin runs it with in the container, on the files of the Secret that is mounted there. This machine
// has no names of Pods, so the address is that of the Pod.
func (b *bench) ctl(args ...string) string {
	b.Helper()
	var pods corev1.PodList
	if err := b.client.List(b.Context(), &pods, client.InNamespace(b.cluster.Namespace)); err != nil {
		b.Fatal(err)
	}
	inside, err := plugin.Ctl(pods.Items, "", args)
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	for key, content := range b.secret(v1beta2.ServerSecretSuffix) {
		if err := os.WriteFile(filepath.Join(folder, key), content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	call := []string{"--insecure-skip-tls-verify"}
	for _, arg := range inside.Command[1:] {
		arg = strings.Replace(arg, "/etc/etcdtls/member/server-tls", folder, 1)
		if strings.HasPrefix(arg, "--endpoints=https://") {
			arg = "--endpoints=https://" + pods.Items[0].Status.PodIP + ":2379"
		}
		call = append(call, arg)
	}
	out, err := exec.CommandContext(b.Context(), servers.EtcdctlProgram(b, "3.6"), call...).CombinedOutput()
	if err != nil {
		b.Fatalf("etcdctl %q: %v\n%s", call, err, out)
	}
	return string(out)
}

package oldcrds

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// kubeconfig writes the administrator's configuration into a file.
func kubeconfig(t *testing.T) string {
	t.Helper()
	config, file := kubetest.Config(t), clientcmdapi.NewConfig()
	file.Clusters["old"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["old"] = &clientcmdapi.Context{Cluster: "old", AuthInfo: "admin"}
	file.CurrentContext = "old"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// The command is that of docs/migrating-from-coreos.md for Helm 4. There are no nodes, so it does not wait for the Pods.
func TestHelmInstallsTheChartOverTheCRDsOfTheArchivedOperator(t *testing.T) {
	install(t)
	namespace := kubetest.Namespace(t)
	kubetest.MustKubectl(t, finished, "create", "-n", namespace, "-f", "-")
	before := specs(t, namespace)
	helm := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), servers.Program(t, "helm"), append(args, "--namespace", namespace, "--kubeconfig", kubeconfig(t))...)
		home := t.TempDir()
		cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	command := []string{"upgrade", "--install", "etcd-operator", filepath.Join(kubetest.Root(t), "charts/etcd-operator"), "--create-namespace", "--take-ownership", "--force-conflicts", "--wait=hookOnly"}
	helm(command...)
	awaitSchemas(t)
	if after := specs(t, namespace); after != before {
		t.Errorf("the install has changed the objects, before\n%s\nafter\n%s", before, after)
	}
	theRestoreDoesNothing(t, namespace)
	helm(command...) // an upgrade of the release finds its own CRDs
	awaitSchemas(t)
}

// specs are the UIDs and specs of the objects, without the default that a read adds.
func specs(t *testing.T, namespace string) string {
	t.Helper()
	all := kubetest.MustKubectl(t, "", "get", "etcdclusters.etcd.database.coreos.com,etcdrestores.etcd.database.coreos.com", "-n", namespace,
		"-o", `jsonpath={range .items[*]}{.kind} {.metadata.uid} {.metadata.deletionTimestamp} {.spec}{"\n"}{end}`)
	return strings.ReplaceAll(all, `"revisionBump":1000000000,`, "")
}

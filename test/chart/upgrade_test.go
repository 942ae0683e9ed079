package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// earlierChart is the chart of an earlier version, as helm package wrote it. After a release, replace it by that of the release.
const earlierChart = "testdata/etcd-operator-earlier.tgz"

// An EtcdCluster that an upgrade does not change keeps its members: unit tests of internal/cluster prove that the operator
// asks for the same Pods as earlier versions, byte for byte.
func TestUpgradeAndRollbackChangeNoClusterAndNoBackup(t *testing.T) {
	s, namespace := newSite(t), kubetest.Namespace(t)
	established := func() {
		kubetest.MustKubectl(t, "", "wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=60s")
	}
	get := func() string {
		return kubetest.MustKubectl(t, "", "get", "etcdclusters,etcdbackups", "--namespace", namespace, "--output=yaml")
	}
	s.helm(t, "install", releaseName, earlierChart, "--namespace", namespace, "--wait=hookOnly")
	established()
	kubetest.MustKubectl(t, "", "apply", "--namespace", namespace, "-f", "../../examples/etcdcluster.yaml", "-f", "../../examples/etcdbackup-s3.yaml")
	before, size := get(), crdSize(t)

	steps := []struct {
		name string
		args []string
	}{
		{"helm upgrade", []string{"upgrade", releaseName, chartDir, "--wait=hookOnly"}},
		{"helm rollback", []string{"rollback", releaseName, "1", "--wait=hookOnly"}},
		{"the second helm upgrade", []string{"upgrade", releaseName, chartDir, "--wait=hookOnly"}},
		{"helm uninstall", []string{"uninstall", releaseName}},
	}
	for i, step := range steps {
		s.helm(t, append(step.args, "--namespace", namespace)...)
		established()
		if diff := cmp.Diff(before, get()); diff != "" {
			t.Errorf("%s changed objects (-before +after):\n%s", step.name, diff)
		}
		if want := map[bool]int{true: 3}[i < 3]; len(deployments(t, namespace)) != want {
			t.Errorf("after %s the namespace has the Deployments %q, want %d", step.name, deployments(t, namespace), want)
		}
		if rolledBack := crdSize(t) == size; rolledBack != (step.name == "helm rollback") {
			t.Errorf("after %s the CRDs are those of the earlier chart: %t", step.name, rolledBack)
		}
	}
}

// crdSize tells versions of the CRDs apart.
func crdSize(t *testing.T) int {
	t.Helper()
	return len(kubetest.MustKubectl(t, "", "get", "customresourcedefinitions", "--output=jsonpath={.items[*].spec}"))
}

func deployments(t *testing.T, namespace string) []string {
	t.Helper()
	var list appsv1.DeploymentList
	if err := kubetest.Client(t).List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range list.Items {
		names = append(names, d.Name)
	}
	return names
}

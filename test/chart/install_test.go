package chart

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// A site is a real kube-apiserver without this suite's CRDs, on which Helm installs the chart.
type site struct {
	kubeconfig string
}

func newSite(t *testing.T) site {
	t.Helper()
	config := kubetest.Config(t)
	kubetest.MustKubectl(t, "", "delete", "customresourcedefinitions", "--all", "--wait")
	deletePolicies(t)
	s := site{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	file := clientcmdapi.NewConfig()
	file.Clusters["site"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	file.Contexts["site"] = &clientcmdapi.Context{Cluster: "site", AuthInfo: "admin"}
	file.CurrentContext = "site"
	if err := clientcmd.WriteToFile(*file, s.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s site) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helm(t, "", append(args, "--kubeconfig", s.kubeconfig)...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// allowed asks the API server whether a component of the release in the namespace
// release has the right to do verb on resource in namespace.
func allowed(t *testing.T, component, release, verb, resource, namespace string) bool {
	t.Helper()
	groups := map[string]string{
		"pods": "", "secrets": "", "services": "", "leases": "coordination.k8s.io", "storageclasses": "storage.k8s.io",
		"etcdclusters": group, "etcdbackups": group, "etcdrestores": group,
	}
	resource, sub, _ := strings.Cut(resource, "/")
	apiGroup, known := groups[resource]
	if !known {
		t.Fatalf("the table of API groups in allowed lacks %s", resource)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:   "system:serviceaccount:" + release + ":demo-" + component,
		Groups: []string{"system:serviceaccounts", "system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: apiGroup, Resource: resource, Subresource: sub,
		},
	}}
	kubetest.Create(t, review)
	return review.Status.Allowed
}

func TestUninstallKeepsClustersAndReinstallManagesThemAgain(t *testing.T) {
	s, namespace := newSite(t), kubetest.Namespace(t)
	install := []string{"upgrade", "--install", releaseName, chartDir, "--namespace", namespace, "--wait=hookOnly"}

	notes := s.helm(t, install...)
	for _, want := range []string{"kind: EtcdCluster", "--selector=app.kubernetes.io/instance=demo", "helm uninstall stops the operators only"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes of helm do not contain %q:\n%s", want, notes)
		}
	}
	cluster := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: namespace},
		Spec:       v1beta2.EtcdClusterSpec{Size: 3},
	}
	kubetest.MustKubectl(t, "", "wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=60s")
	kubetest.Create(t, cluster)

	s.helm(t, "uninstall", releaseName, "--namespace", namespace)
	var deployments appsv1.DeploymentList
	if err := kubetest.Client(t).List(t.Context(), &deployments, client.InNamespace(namespace)); err != nil || len(deployments.Items) > 0 {
		t.Errorf("after helm uninstall %d Deployments exist, expected none, error %v", len(deployments.Items), err)
	}
	after := &v1beta2.EtcdCluster{}
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(cluster), after); err != nil || after.UID != cluster.UID || after.DeletionTimestamp != nil {
		t.Fatalf("helm uninstall deleted or replaced the EtcdCluster, error %v", err)
	}

	s.helm(t, install...)
	if err := kubetest.Client(t).List(t.Context(), &deployments, client.InNamespace(namespace)); err != nil || len(deployments.Items) != 3 {
		t.Errorf("after the second install %d Deployments exist, expected 3, error %v", len(deployments.Items), err)
	}
	s.helm(t, "upgrade", releaseName, chartDir, "--namespace", namespace, "--set", "restoreOperator.enabled=false", "--wait=hookOnly")
	if err := kubetest.Client(t).List(t.Context(), &deployments, client.InNamespace(namespace)); err != nil || len(deployments.Items) != 2 {
		t.Errorf("with restoreOperator.enabled=false %d Deployments exist, expected 2, error %v", len(deployments.Items), err)
	}
	s.helm(t, "uninstall", releaseName, "--namespace", namespace)
}

func TestTwoReleasesHaveRightsOnlyInTheirOwnNamespaces(t *testing.T) {
	s, north, south := newSite(t), kubetest.Namespace(t), kubetest.Namespace(t)
	teamNorth, teamSouth := kubetest.Namespace(t), kubetest.Namespace(t)
	s.helm(t, "install", releaseName, chartDir, "--namespace", north, "--set", "watchNamespaces={"+teamNorth+"}", "--wait=hookOnly")
	s.helm(t, "install", releaseName, chartDir, "--namespace", south, "--set", "watchNamespaces={"+teamSouth+"},crds.install=false", "--wait=hookOnly")

	for _, test := range []struct {
		component, verb, resource, namespace string
		want                                 bool
	}{
		{clusterOperator, "create", "pods", teamNorth, true},
		{clusterOperator, "create", "pods", teamSouth, false},
		{clusterOperator, "list", "pods", "", false},
		{clusterOperator, "list", "storageclasses", "", true},
		{clusterOperator, "patch", "etcdclusters/status", teamNorth, true},
		{clusterOperator, "get", "etcdbackups", teamNorth, false},
		{clusterOperator, "get", "secrets", teamSouth, false},
		{clusterOperator, "create", "leases", north, true},
		{clusterOperator, "create", "leases", teamNorth, false},
		{backupOperator, "get", "secrets", teamNorth, true},
		{backupOperator, "list", "secrets", teamNorth, false},
		{backupOperator, "get", "pods", teamNorth, false},
		{backupOperator, "patch", "etcdbackups/status", teamNorth, true},
		{backupOperator, "patch", "etcdclusters/status", teamNorth, false},
		{restoreOperator, "patch", "etcdrestores/status", teamNorth, true},
		{restoreOperator, "patch", "etcdrestores", teamNorth, false},
		{restoreOperator, "delete", "etcdrestores", teamNorth, true},
		{restoreOperator, "delete", "etcdclusters", teamNorth, false},
		{restoreOperator, "list", "etcdclusters", teamSouth, false},
	} {
		if got := allowed(t, test.component, north, test.verb, test.resource, test.namespace); got != test.want {
			t.Errorf("%s has the right to %s %s in namespace %q: %t, want %t", test.component, test.verb, test.resource, test.namespace, got, test.want)
		}
	}
	if !allowed(t, clusterOperator, south, "create", "pods", teamSouth) {
		t.Error("the second release has no right to create Pods in its own namespace")
	}
	for _, namespace := range []string{north, south} {
		s.helm(t, "uninstall", releaseName, "--namespace", namespace)
	}
}

func TestPodsAreAdmittedUnderTheRestrictedPodSecurityStandard(t *testing.T) {
	r := render(t, "")
	namespace := kubetest.Namespace(t)
	kubetest.MustKubectl(t, "", "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	for component := range operators {
		template := r.deployment(t, component).Spec.Template
		// The test server has no controllers, so ServiceAccounts have no tokens and Deployments get no Pods.
		template.Spec.ServiceAccountName = ""
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: component, Namespace: namespace}, Spec: template.Spec}
		if err := kubetest.Client(t).Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Errorf("the API server refuses the Pod of %s: %v", component, err)
		}
		pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
		pod.Spec.Containers[0].SecurityContext = nil
		pod.ObjectMeta = metav1.ObjectMeta{Name: component, Namespace: namespace}
		if err := kubetest.Client(t).Create(t.Context(), pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
			t.Fatalf("the API server accepts a Pod without a security context, so the test tested nothing: %v", err)
		}
	}
}

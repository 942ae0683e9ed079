// Package chart tests charts/etcd-operator as Helm renders it. It decodes the
// objects strictly into Kubernetes' own types, so a field that does not exist in
// the API is an error. It needs the program helm in TEST_BIN.
package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

const (
	chartDir         = "../../charts/etcd-operator"
	releaseName      = "demo"
	releaseNamespace = "etcd-system"

	clusterOperator = "cluster-operator"
	backupOperator  = "backup-operator"
	restoreOperator = "restore-operator"

	componentLabel = "app.kubernetes.io/component"
)

// operators maps each component to its key in values.yaml.
var operators = map[string]string{
	clusterOperator: "clusterOperator",
	backupOperator:  "backupOperator",
	restoreOperator: "restoreOperator",
}

// kinds are all kinds that the chart may render.
var kinds = map[string]func() metav1.Object{
	"v1/ServiceAccount":                                                func() metav1.Object { return &corev1.ServiceAccount{} },
	"v1/Service":                                                       func() metav1.Object { return &corev1.Service{} },
	"v1/ConfigMap":                                                     func() metav1.Object { return &corev1.ConfigMap{} },
	"apps/v1/Deployment":                                               func() metav1.Object { return &appsv1.Deployment{} },
	"policy/v1/PodDisruptionBudget":                                    func() metav1.Object { return &policyv1.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy":                               func() metav1.Object { return &networkingv1.NetworkPolicy{} },
	"rbac.authorization.k8s.io/v1/Role":                                func() metav1.Object { return &rbacv1.Role{} },
	"rbac.authorization.k8s.io/v1/RoleBinding":                         func() metav1.Object { return &rbacv1.RoleBinding{} },
	"rbac.authorization.k8s.io/v1/ClusterRole":                         func() metav1.Object { return &rbacv1.ClusterRole{} },
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding":                  func() metav1.Object { return &rbacv1.ClusterRoleBinding{} },
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy":        func() metav1.Object { return &admissionv1.ValidatingAdmissionPolicy{} },
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": func() metav1.Object { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	"monitoring.coreos.com/v1/ServiceMonitor":                          func() metav1.Object { return &serviceMonitor{} },
	"monitoring.coreos.com/v1/PodMonitor":                              func() metav1.Object { return &podMonitor{} },
	"monitoring.coreos.com/v1/PrometheusRule":                          func() metav1.Object { return &prometheusRule{} },
	"apiextensions.k8s.io/v1/CustomResourceDefinition":                 func() metav1.Object { return &apiextensionsv1.CustomResourceDefinition{} },
}

// A release has the objects that helm template renders.
type release struct {
	objects []metav1.Object
}

// helm runs helm with stdin and returns its combined output.
func helm(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), servers.Program(t, "helm"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// template renders the chart with values, as YAML.
func template(t *testing.T, values string, args ...string) (string, error) {
	t.Helper()
	return helm(t, values, append([]string{"template", releaseName, chartDir, "--namespace", releaseNamespace, "--values", "-", "--skip-tests"}, args...)...)
}

func render(t *testing.T, values string, args ...string) release {
	t.Helper()
	out, err := template(t, values, args...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	var r release
	seen := map[string]bool{}
	for _, document := range strings.Split("\n"+out, "\n---\n") {
		object := decode(t, document)
		if object == nil {
			continue
		}
		key := fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
		if seen[key] {
			t.Errorf("the chart renders %s twice", key)
		}
		seen[key] = true
		r.objects = append(r.objects, object)
	}
	return r
}

func decode(t *testing.T, document string) metav1.Object {
	t.Helper()
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
		t.Fatalf("decode: %v\n%s", err, document)
	}
	if meta.Kind == "" {
		if content := bytes.TrimSpace(uncomment(document)); len(content) > 0 {
			t.Fatalf("the chart renders a document without a kind:\n%s", document)
		}
		return nil
	}
	create, known := kinds[meta.APIVersion+"/"+meta.Kind]
	if !known {
		t.Fatalf("the chart renders the unexpected kind %s/%s", meta.APIVersion, meta.Kind)
	}
	object := create()
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		t.Fatalf("decode %s strictly: %v\n%s", meta.Kind, err, document)
	}
	return object
}

func uncomment(document string) []byte {
	var kept []byte
	for line := range strings.Lines(document) {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, line...)
		}
	}
	return kept
}

// all returns the objects of one type.
func all[T metav1.Object](r release) []T {
	var found []T
	for _, object := range r.objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// deployment returns the Deployment of component. It fails the test unless there is
// exactly one.
func (r release) deployment(t *testing.T, component string) *appsv1.Deployment {
	t.Helper()
	var found []*appsv1.Deployment
	for _, d := range all[*appsv1.Deployment](r) {
		if d.Labels[componentLabel] == component {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s has %d Deployments, want 1", component, len(found))
	}
	return found[0]
}

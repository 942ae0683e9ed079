package oldest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// everything switches on all that the chart can render.
const everything = `
commonAnnotations: {owner: storage}
networkPolicy: {enabled: true, egress: [{ports: [{port: 443}]}]}
clusterOperator: {replicas: 2}
backupOperator: {spool: {volumeClaim: {enabled: true}}}
`

// kinds are the types of the oldest release.
var kinds = map[string]func() any{
	"ValidatingAdmissionPolicy":        func() any { return &admissionv1.ValidatingAdmissionPolicy{} },
	"ValidatingAdmissionPolicyBinding": func() any { return &admissionv1.ValidatingAdmissionPolicyBinding{} },
	"ServiceAccount":                   func() any { return &corev1.ServiceAccount{} },
	"Service":                          func() any { return &corev1.Service{} },
	"Deployment":                       func() any { return &appsv1.Deployment{} },
	"PodDisruptionBudget":              func() any { return &policyv1.PodDisruptionBudget{} },
	"NetworkPolicy":                    func() any { return &networkingv1.NetworkPolicy{} },
	"Role":                             func() any { return &rbacv1.Role{} },
	"RoleBinding":                      func() any { return &rbacv1.RoleBinding{} },
	"ClusterRole":                      func() any { return &rbacv1.ClusterRole{} },
	"ClusterRoleBinding":               func() any { return &rbacv1.ClusterRoleBinding{} },
	"CustomResourceDefinition":         func() any { return &apiextensionsv1.CustomResourceDefinition{} },
}

func render(t *testing.T) []string {
	t.Helper()
	helm := filepath.Join(os.Getenv("TEST_BIN"), "helm")
	if _, err := os.Stat(helm); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("TEST_BIN does not contain helm: run make chart")
		}
		t.Skip("TEST_BIN does not contain helm: run make chart")
	}
	cmd := exec.CommandContext(t.Context(), helm, "template", "etcd-operator", filepath.Join(root, "charts/etcd-operator"),
		"--namespace", "etcd-operator", "--kube-version", oldest(t)+".0", "--values", "-", "--skip-tests")
	cmd.Stdin = strings.NewReader(everything)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm template: %v", err)
	}
	return strings.Split("\n"+string(out), "\n---\n")
}

// oldest is the release that Chart.yaml names, for example 1.30.
func oldest(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "charts/etcd-operator/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`kubeVersion: ">=(1\.\d+)\.0-0"`).FindSubmatch(raw)
	if match == nil {
		t.Fatal("Chart.yaml has no kubeVersion")
	}
	return string(match[1])
}

func TestTheLibrariesAreOfTheOldestRelease(t *testing.T) {
	want := "v0." + strings.TrimPrefix(oldest(t), "1.") + "."
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build info")
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/api" || module.Path == "k8s.io/apiextensions-apiserver" {
			if !strings.HasPrefix(module.Version, want) {
				t.Errorf("%s has version %s, want %sx", module.Path, module.Version, want)
			}
		}
	}
}

func TestTheOldestReleaseKnowsEveryField(t *testing.T) {
	seen := map[string]int{}
	for _, document := range render(t) {
		var meta struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind == "" {
			continue
		}
		create := kinds[meta.Kind]
		if create == nil {
			t.Fatalf("unexpected kind %s", meta.Kind)
		}
		seen[meta.Kind]++
		if err := yaml.UnmarshalStrict([]byte(document), create()); err != nil {
			t.Errorf("%s: %v", meta.Kind, err)
		}
	}
	for kind := range kinds {
		if seen[kind] == 0 && kind != "Role" && kind != "RoleBinding" {
			t.Errorf("the chart renders no %s, so the test tested too little", kind)
		}
	}
}

// The API server compiles each CEL rule when a CRD is created, and refuses functions that it does not know and rules that
// could cost too much.
func TestTheOldestReleaseAcceptsTheCRDs(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "charts/etcd-operator/files/crds/*.yaml"))
	if err != nil || len(paths) != 3 {
		t.Fatalf("found the CRDs %v, error %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range problems(t, raw) {
				t.Error(problem)
			}
		})
	}
	t.Run("a function of a later release is refused", func(t *testing.T) {
		raw, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		broken := strings.Replace(string(raw), "rule: ", "rule: laterFunction() && ", 1)
		if len(problems(t, []byte(broken))) == 0 {
			t.Error("the validation accepts a function that does not exist, so the test tests nothing")
		}
	})
}

func problems(t *testing.T, raw []byte) []string {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, &internal, nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range internal.Spec.Versions { // as the API server does before it stores a CRD
		internal.Status.StoredVersions = append(internal.Status.StoredVersions, v.Name)
	}
	var found []string
	for _, problem := range validation.ValidateCustomResourceDefinition(t.Context(), &internal) {
		found = append(found, problem.Error())
	}
	return found
}

package chart

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/internal/operator/checkup"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func testPod(t *testing.T, document string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(document), pod); err != nil {
		t.Fatalf("decode strictly: %v\n%s", err, document)
	}
	return pod
}

// testPods are the Pods of helm test by their component.
func testPods(t *testing.T, values string) map[string]*corev1.Pod {
	t.Helper()
	out, err := helm(t, values, "template", releaseName, chartDir, "--namespace", releaseNamespace, "--values", "-")
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	found := map[string]*corev1.Pod{}
	for _, document := range strings.Split(out, "\n---\n") {
		if !strings.Contains(document, "\nkind: Pod\n") {
			continue
		}
		pod := testPod(t, document)
		if pod.Annotations["helm.sh/hook"] != "test" || pod.Namespace != releaseNamespace {
			t.Errorf("Pod %s/%s is no test of the release", pod.Namespace, pod.Name)
		}
		found[strings.TrimSuffix(pod.Labels[componentLabel], "-test")] = pod
	}
	return found
}

func TestHelmTestRunsEachOperatorAsItIsInstalled(t *testing.T) {
	pods, r := testPods(t, "operators: {tolerations: [{key: etcd}]}\n"), render(t, "operators: {tolerations: [{key: etcd}]}\n")
	for _, component := range []string{"cluster-operator", "backup-operator", "restore-operator"} {
		installed, pod := r.deployment(t, component).Spec.Template.Spec, pods[component].Spec
		if pod.Containers[0].Image != installed.Containers[0].Image || pod.ServiceAccountName != installed.ServiceAccountName {
			t.Errorf("%s: the test runs %s as %s", component, pod.Containers[0].Image, pod.ServiceAccountName)
		}
		if !slices.Equal(pod.Tolerations, installed.Tolerations) || len(pod.Containers[0].Command) > 0 || pod.RestartPolicy != corev1.RestartPolicyNever {
			t.Errorf("%s: the test does not run where the operator does, or has a command: %+v", component, pod)
		}
		checkContainer(t, pod.Containers[0])
		if !reflect.DeepEqual(pod.SecurityContext, installed.SecurityContext) {
			t.Errorf("%s: the test has the security context %+v", component, pod.SecurityContext)
		}
		for name, value := range r.deployment(t, component).Spec.Selector.MatchLabels {
			if name == componentLabel && pods[component].Labels[name] == value {
				t.Errorf("%s: the Service of the metrics selects the Pod of the test", component)
			}
		}
	}
	if left := testPods(t, "backupOperator: {enabled: false}\nrestoreOperator: {replicas: 0}\n"); len(left) != 1 || left["cluster-operator"] == nil {
		t.Errorf("without two operators, %d are tested", len(left))
	}
}

// requestOf is what the Pod of a component checks.
func requestOf(t *testing.T, pod *corev1.Pod) (request checkup.Request) {
	t.Helper()
	for _, arg := range pod.Spec.Containers[0].Args {
		if text, ok := strings.CutPrefix(arg, "--rights="); ok {
			if err := json.Unmarshal([]byte(text), &request.Rights); err != nil {
				t.Fatal(err)
			}
		}
		if name, ok := strings.CutPrefix(arg, "--lease="); ok {
			request.Lease = name
		}
	}
	return request
}

// Without this check, helm install is a success, and nobody learns why no cluster is created.
func TestHelmTestFindsARightThatIsMissingAndOldDefinitions(t *testing.T) {
	s, namespace := newSite(t), kubetest.Namespace(t)
	install := []string{"upgrade", "--install", releaseName, chartDir, "--namespace", namespace, "--wait=hookOnly", "--set", "watchNamespaces={" + namespace + "}"}
	s.helm(t, install...)
	observe := func(component string) []checkup.Finding {
		t.Helper()
		out := s.helm(t, "get", "hooks", releaseName, "--namespace", namespace)
		var request checkup.Request
		for _, document := range strings.Split(out, "\n---") {
			if !strings.Contains(document, "check-installation") || !strings.Contains(document, "name: "+releaseName+"-"+component+"-test") {
				continue
			}
			request = requestOf(t, testPod(t, document))
		}
		request.Namespace, request.Version, request.Within = namespace, "0.1.0", 5*time.Second
		config := rest.CopyConfig(kubetest.Config(t))
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + namespace + ":" + releaseName + "-" + component, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		}
		seen, err := checkup.Observe(t.Context(), config, request)
		if err != nil {
			t.Fatal(err)
		}
		if seen.Asked < 15 {
			t.Errorf("%s: %d rights were checked", component, seen.Asked)
		}
		return checkup.Judge(request, seen)
	}
	for _, component := range []string{"cluster-operator", "backup-operator", "restore-operator"} {
		findings := observe(component)
		if !findings[0].Passed || !findings[1].Passed || findings[2].Passed {
			t.Errorf("%s: a release without a running Pod: %+v", component, findings)
		}
	}
	kubetest.Create(t, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "cluster-operator." + group, Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/version": "0.1.0"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("a-pod-that-ended")},
	})
	kubetest.MustKubectl(t, "", "--namespace", namespace, "delete", "rolebinding", releaseName+"-cluster-operator")
	kubetest.MustKubectl(t, "", "patch", "customresourcedefinition", "etcdclusters."+group, "--type=json",
		`--patch=[{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/readOnly"}]`)
	var findings []checkup.Finding
	kubetest.Eventually(t, "the API server publishes the changed definition", func(context.Context) error {
		if findings = observe("cluster-operator"); findings[0].Passed {
			return errors.New("it publishes the former one")
		}
		return nil
	})
	for i, want := range []string{"EtcdCluster.spec.readOnly", "create", "did not renew"} {
		if findings[i].Passed || !strings.Contains(findings[i].Detail, want) {
			t.Errorf("got %+v, want %q", findings[i], want)
		}
	}
}

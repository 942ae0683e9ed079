package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// memberPods are the Pods that cluster-operator creates: each way to start a member, by file. Unit tests of internal/cluster/pods
// compare them with what the operator asks for. "pod-policy" has the security contexts of its user.
func memberPods(t *testing.T, namespace string) map[string]*corev1.Pod {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kubetest.Root(t), "internal/cluster/pods/testdata/pod-*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found the Pods %q, error %v", files, err)
	}
	pods := map[string]*corev1.Pod{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		if err := yaml.UnmarshalStrict(text, &pod); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		pod.Namespace = namespace
		// The test server has no controllers, so a namespace has no ServiceAccount and no class of priority exists.
		pod.Spec.ServiceAccountName, pod.Spec.PriorityClassName, pod.Spec.RuntimeClassName = "", "", nil
		pods[strings.TrimSuffix(filepath.Base(file), ".yaml")] = &pod
	}
	return pods
}

func dryRun(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	return kubetest.Client(t).Create(t.Context(), pod.DeepCopy(), client.DryRunAll)
}

func TestEveryMemberIsAdmittedUnderTheRestrictedPodSecurityStandard(t *testing.T) {
	namespace := kubetest.Namespace(t)
	kubetest.MustKubectl(t, "", "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	for name, pod := range memberPods(t, namespace) {
		if name == "pod-policy" || name == "pod-beside" {
			continue
		}
		if err := dryRun(t, pod); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		pod.Spec.Containers[0].SecurityContext = nil
		if err := dryRun(t, pod); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
			t.Fatalf("%s: a Pod without a security context is accepted, so the test tested nothing: %v", name, err)
		}
	}
}

// A ResourceQuota of CPU and memory refuses each container without requests and limits, and counts init containers, too.
func TestEveryMemberWithResourcesIsAdmittedUnderAResourceQuota(t *testing.T) {
	namespace := kubetest.Namespace(t)
	hard := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourcePods} {
		hard[name] = resource.MustParse("10")
	}
	hard[corev1.ResourceRequestsMemory], hard[corev1.ResourceLimitsMemory] = resource.MustParse("10Gi"), resource.MustParse("10Gi")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: namespace}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	kubetest.Create(t, quota)
	quota.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{}} // what the quota controller writes
	for name := range hard {
		quota.Status.Used[name] = resource.MustParse("0")
	}
	if err := kubetest.Client(t).Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	some := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")}
	for name, pod := range memberPods(t, namespace) {
		if name == "pod-beside" {
			continue // its containers are the user's
		}
		giveResources(pod, corev1.ResourceRequirements{})
		kubetest.Eventually(t, "a refusal of "+name+" without requests", refusal(t, pod, "must specify"))
		giveResources(pod, corev1.ResourceRequirements{Requests: some, Limits: some})
		if err := dryRun(t, pod); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// giveResources sets the resources of etcd and of the seed, as spec.pod.resources does. A unit test of internal/cluster
// compares them.
func giveResources(pod *corev1.Pod, resources corev1.ResourceRequirements) {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Resources = resources
		}
	}
}

// A LimitRange adds defaults to containers without resources. The operator must accept the Pod that results.
func TestEveryMemberIsAdmittedUnderALimitRange(t *testing.T) {
	namespace := kubetest.Namespace(t)
	some := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")}
	kubetest.Create(t, &corev1.LimitRange{
		ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: namespace},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
			{Type: corev1.LimitTypeContainer, Default: some, DefaultRequest: some},
			{Type: corev1.LimitTypePersistentVolumeClaim, Min: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}},
	})
	for name, pod := range memberPods(t, namespace) {
		giveResources(pod, corev1.ResourceRequirements{})
		kubetest.Eventually(t, "defaults for "+name, defaulted(t, pod))
	}
}

// refusal waits until the admission plugin has read its objects: it lists them only after they were created.
func refusal(t *testing.T, pod *corev1.Pod, why string) func(context.Context) error {
	return func(context.Context) error {
		if err := dryRun(t, pod); err == nil || !strings.Contains(err.Error(), why) {
			return fmt.Errorf("the Pod is not refused with %q: %w", why, err)
		}
		return nil
	}
}

func defaulted(t *testing.T, pod *corev1.Pod) func(context.Context) error {
	return func(ctx context.Context) error {
		created := pod.DeepCopy()
		if err := kubetest.Client(t).Create(ctx, created, client.DryRunAll); err != nil {
			return err
		}
		for _, c := range slices.Concat(created.Spec.InitContainers, created.Spec.Containers) {
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				return fmt.Errorf("container %s has the resources %+v", c.Name, c.Resources)
			}
		}
		return nil
	}
}

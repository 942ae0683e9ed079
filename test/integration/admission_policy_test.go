package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// wantsTeam is a policy that denies each object of a resource without the label team, in one namespace.
const wantsTeam = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [%[2]s]}
  validations:
  - expression: "has(object.metadata.labels) && 'team' in object.metadata.labels"
    message: the label team is missing
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[3]s}}
`

// An admission policy that wants a label on each object made every pass an error that was retried for ever, and nobody was told to act.
func TestAnObjectThatAnAdmissionPolicyDeniesIsStalledWithThePolicysWords(t *testing.T) {
	t.Parallel()
	for resource, test := range map[string]struct {
		kind string
		pod  *v1beta2.PodPolicy
		tls  *v1beta2.TLSPolicy
		fix  func(t *testing.T, policy string, c *v1beta2.EtcdCluster)
	}{
		"secrets":                {"Secret", emptyDirs, &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{}}, withTheLabel},
		"services":               {"Service", emptyDirs, nil, withoutThePolicy},
		"persistentvolumeclaims": {"PersistentVolumeClaim", &v1beta2.PodPolicy{PersistentVolumeClaimSpec: namedClass}, nil, withTheLabel},
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			namespace := kubetest.Namespace(t)
			policy := "team-" + namespace
			kubetest.MustKubectl(t, fmt.Sprintf(wantsTeam, policy, resource, namespace), "apply", "-f", "-")
			t.Cleanup(func() {
				_, _ = kubetest.Kubectl(t, "", "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", policy, "--ignore-not-found")
			})
			kubetest.Eventually(t, "the policy is in force", refusedWithoutLabel(t, namespace, resource))
			operate(t, namespace)
			c := newCluster(namespace, "a", test.tls)
			c.Spec.Pod = test.pod
			kubetest.Create(t, c)
			awaitCluster(t, c, v1beta2.ConditionStalled, metav1.ConditionTrue, v1beta2.ReasonObjectRefused)
			if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
				t.Fatal(err)
			}
			stalled := meta.FindStatusCondition(c.Status.Conditions, v1beta2.ConditionStalled)
			for _, want := range []string{test.kind, policy, "the label team is missing", "Correct what the answer names"} {
				if !strings.Contains(stalled.Message, want) {
					t.Errorf("the status says %q, want %q", stalled.Message, want)
				}
			}
			test.fix(t, policy, c)
			awaitCluster(t, c, v1beta2.ConditionStalled, metav1.ConditionFalse, v1beta2.ReasonCreating)
		})
	}
}

// withTheLabel sets the label for all objects of a cluster.
func withTheLabel(t *testing.T, _ string, c *v1beta2.EtcdCluster) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"metadata":{"labels":{"team":"a"}}}}`))
	if err := kubetest.Client(t).Patch(t.Context(), c, patch); err != nil {
		t.Fatal(err)
	}
}

func withoutThePolicy(t *testing.T, policy string, _ *v1beta2.EtcdCluster) {
	t.Helper()
	kubetest.MustKubectl(t, "", "delete", "validatingadmissionpolicybinding", policy)
}

var (
	emptyDirs  = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	someClass  = "some"
	namedClass = &corev1.PersistentVolumeClaimSpec{StorageClassName: &someClass}
)

// refusedWithoutLabel waits until the API server has read the policy: it lists policies only after they were created.
func refusedWithoutLabel(t *testing.T, namespace, resource string) func(context.Context) error {
	objects := map[string]client.Object{
		"secrets":  &corev1.Secret{},
		"services": &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		"persistentvolumeclaims": &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}},
		}},
	}
	return func(ctx context.Context) error {
		object := objects[resource].DeepCopyObject().(client.Object)
		object.SetNamespace(namespace)
		object.SetName("without-label")
		if err := kubetest.Client(t).Create(ctx, object, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "team is missing") {
			return fmt.Errorf("an object without the label: %w", errors.Join(err, errors.New("not denied yet")))
		}
		return nil
	}
}

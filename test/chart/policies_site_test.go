package chart

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// deletePolicies deletes the policies of earlier tests, because they limit all tests of the same API server. It waits until the API server applies
// none of them.
func deletePolicies(t *testing.T) {
	t.Helper()
	for _, kind := range []client.Object{&admissionv1.ValidatingAdmissionPolicyBinding{}, &admissionv1.ValidatingAdmissionPolicy{}} {
		if err := kubetest.Client(t).DeleteAllOf(t.Context(), kind); err != nil {
			t.Fatal(err)
		}
	}
	awaitPoliciesSince(t.Context(), t)
}

// awaitPoliciesSince waits until the API server applies the policies as they are now. It reads them once a second. So it may apply a policy
// for the first time after that was deleted. It has seen the deletion when it applies another policy that was created later.
func awaitPoliciesSince(ctx context.Context, t *testing.T) {
	t.Helper()
	name := releaseName + "-later-" + strings.ToLower(rand.Text())
	refused := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	for _, object := range []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.name != '" + name + "'"}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}},
	} {
		if err := kubetest.Client(t).Create(ctx, object); err != nil {
			t.Error(err)
		}
		defer func() {
			if err := kubetest.Client(t).Delete(ctx, object); err != nil {
				t.Error(err)
			}
		}()
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, kubetest.Deadline, true, func(ctx context.Context) (bool, error) {
		return denied(kubetest.Client(t).Create(ctx, refused.DeepCopy(), client.DryRunAll)), nil
	})
	if err != nil {
		t.Errorf("the API server applies no new policy: %v", err)
	}
}

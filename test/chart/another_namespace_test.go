package chart

import (
	"context"
	"errors"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// An application in another namespace gets no certificate, or its namespace reads the Secrets of all users and the key of the CA.
func TestTheExampleForAnotherNamespaceAllowsOneSecretOnly(t *testing.T) {
	namespace := kubetest.Namespace(t)
	kubetest.MustKubectl(t, "", "apply", "-n", namespace, "-f", "../../examples/secret-for-another-namespace.yaml")
	may := func(user, verb, name string) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets", Name: name},
		}}
		kubetest.Create(t, review)
		return review.Status.Allowed
	}
	kubetest.Eventually(t, "the ServiceAccount may read the Secret", func(context.Context) error {
		if !may("shop:etcd-secrets", "get", "example-shop-tls") {
			return errors.New("it may not")
		}
		return nil
	})
	for _, try := range [][3]string{
		{"shop:etcd-secrets", "get", "example-ca"},
		{"shop:etcd-secrets", "get", "example-client-tls"},
		{"shop:etcd-secrets", "list", ""},
		{"shop:etcd-secrets", "update", "example-shop-tls"},
		{"shop:default", "get", "example-shop-tls"},
		{"other:etcd-secrets", "get", "example-shop-tls"},
	} {
		if may(try[0], try[1], try[2]) {
			t.Errorf("ServiceAccount %s may %s Secret %q", try[0], try[1], try[2])
		}
	}
}

package chart

import (
	"context"
	"errors"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/operator"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// A tenant has the chart's role edit in one namespace, and no other right.
type tenant struct {
	*testing.T
	client.Client
	site               site
	release, namespace string
}

func newTenant(t *testing.T, values ...string) *tenant {
	t.Helper()
	s, release := newSite(t), kubetest.Namespace(t)
	s.helm(t, append([]string{"install", releaseName, chartDir, "--namespace", release, "--wait=hookOnly", ownIdentity}, values...)...)
	kubetest.MustKubectl(t, "", "wait", "customresourcedefinitions", "--all", "--for=condition=Established", "--timeout=60s")
	n := &tenant{T: t, site: s, release: release, namespace: kubetest.Namespace(t)}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "tenant"}}
	kubetest.Create(t, account, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: releaseName + "-edit:" + release},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: n.namespace, Name: "tenant"}},
	})
	token := &authenticationv1.TokenRequest{}
	if err := kubetest.Client(t).SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admin := kubetest.Config(t)
	config := &rest.Config{Host: admin.Host, TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData}, BearerToken: token.Status.Token, QPS: -1}
	if n.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the tenant may create EtcdClusters", func(context.Context) error { return n.create(&v1beta2.PodPolicy{}) })
	return n
}

// create creates an EtcdCluster in a dry run, which policies treat like a request.
func (n *tenant) create(policy *v1beta2.PodPolicy) error {
	return n.Create(n.Context(), n.cluster(policy), client.DryRunAll)
}

func (n *tenant) cluster(policy *v1beta2.PodPolicy) *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "tried"}, Spec: v1beta2.EtcdClusterSpec{Size: 1, Pod: policy}}
}

func (n *tenant) awaitPolicy() {
	n.Helper()
	kubetest.Eventually(n, "the policy is in force", func(context.Context) error {
		if err := n.create(contextOf(corev1.PodSecurityContext{SeccompProfile: unconfinedSeccomp})); !denied(err) {
			return fmt.Errorf("an EtcdCluster without seccomp: %w", errors.Join(err, errors.New("not denied yet")))
		}
		return nil
	})
}

// first moves the containers before etcd, as sidecars that run on.
func first(policy *v1beta2.PodPolicy) *v1beta2.PodPolicy {
	for i := range policy.Containers {
		policy.Containers[i].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	}
	policy.InitContainers, policy.Containers = policy.Containers, nil
	return policy
}

// asPod creates a Pod of an administrator with the same fields, in a dry run.
func (n *tenant) asPod(policy *v1beta2.PodPolicy) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "tried", Annotations: policy.Annotations}}
	pod.Spec = corev1.PodSpec{
		Containers: append([]corev1.Container{{Name: "etcd", Image: "i"}}, policy.Containers...), InitContainers: policy.InitContainers,
		SecurityContext: policy.SecurityContext, ServiceAccountName: "tenant",
	}
	for _, v := range policy.Volumes {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v.Volume())
	}
	return kubetest.Client(n).Create(n.Context(), pod, client.DryRunAll)
}

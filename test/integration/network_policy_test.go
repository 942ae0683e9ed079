package integration

import (
	"context"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
	"github.com/etcd-suite/etcd-operator/test/netpolicy"
)

// operateWithPeers runs an operator that manages NetworkPolicies. It is in the namespace "ops".
func operateWithPeers(t *testing.T, namespace string) {
	t.Helper()
	const peers = `{"operator": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}}]}`
	kubetest.RunManager(t, namespace, func(_ context.Context, mgr manager.Manager) error {
		return cluster.Setup(mgr, cluster.Options{SeedImage: "seed", NetworkPeers: peers})
	})
}

// An operator that does not take the API server's answer for its own policy writes it without end. One that takes the policy of a
// person for its own opens or cuts off that person's Pods.
func TestTheNetworkPolicyFollowsTheSpec(t *testing.T) {
	t.Parallel()
	namespace := kubetest.Namespace(t)
	operateWithPeers(t, namespace)
	c := newCluster(namespace, "a", nil)
	kubetest.Create(t, c)
	awaitCluster(t, c, v1beta2.ConditionAvailable, metav1.ConditionFalse, v1beta2.ReasonCreating)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(policy), policy); !apierrors.IsNotFound(err) {
		t.Fatalf("an EtcdCluster without the field has a NetworkPolicy: %v", err)
	}

	patchSpec(t, c, `{"networkPolicy":{"ingress":[{"ports":[{"port":9979}]}]}}`)
	kubetest.Await(t, policy, "exist", func(p *networkingv1.NetworkPolicy) bool { return metav1.IsControlledBy(p, c) })
	web := netpolicy.End{Namespace: namespace, Labels: map[string]string{"app": "web"}}
	member := netpolicy.End{Namespace: namespace, Labels: map[string]string{v1beta2.LabelCluster: "a"}}
	reaches := func(p *networkingv1.NetworkPolicy, port int32) bool {
		return netpolicy.Allows([]networkingv1.NetworkPolicy{*p}, web, member, port)
	}
	if !reaches(policy, 2379) || reaches(policy, 2380) || reaches(policy, 2381) || !reaches(policy, 9979) {
		t.Errorf("a Pod of the namespace reaches other ports than 2379 and 9979:\n%s", kubetest.YAML(policy))
	}
	before := policy.ResourceVersion
	patchSpec(t, c, `{"size":3}`)
	kubetest.Await(t, policy, "exist", func(*networkingv1.NetworkPolicy) bool { return true })
	if policy.ResourceVersion != before {
		t.Errorf("the operator wrote the NetworkPolicy although nothing was asked of it:\n%s", kubetest.YAML(policy))
	}

	open := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"ingress":[{}]}}`))
	if err := kubetest.Client(t).Patch(t.Context(), policy, open); err != nil {
		t.Fatal(err)
	}
	kubetest.Await(t, policy, "be closed again", func(p *networkingv1.NetworkPolicy) bool { return !reaches(p, 2380) })
	patchSpec(t, c, `{"networkPolicy":{"ingress":null,"clientsFrom":[{"podSelector":{"matchLabels":{"app":"shop"}}}]}}`)
	kubetest.Await(t, policy, "allow only the named clients", func(p *networkingv1.NetworkPolicy) bool { return !reaches(p, 2379) && !reaches(p, 9979) })

	patchSpec(t, c, `{"networkPolicy":null}`)
	kubetest.AwaitGone(t, policy)
}

func TestTheNetworkPolicyOfAPersonIsKept(t *testing.T) {
	t.Parallel()
	namespace := kubetest.Namespace(t)
	operateWithPeers(t, namespace)
	mine := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
	kubetest.Create(t, mine)
	c := newCluster(namespace, "a", nil)
	c.Spec.NetworkPolicy = &v1beta2.MemberNetworkPolicy{}
	kubetest.Create(t, c)
	kubetest.Await(t, c, "have a Pod", func(c *v1beta2.EtcdCluster) bool { return len(c.Status.MemberStatuses) == 1 })
	patchSpec(t, c, `{"networkPolicy":null}`)
	before := mine.ResourceVersion
	kubetest.Await(t, mine, "exist", func(*networkingv1.NetworkPolicy) bool { return true })
	if mine.ResourceVersion != before || len(mine.OwnerReferences) > 0 {
		t.Errorf("the operator changed the policy of a person:\n%s", kubetest.YAML(mine))
	}
}

package cluster

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// heldPolicies is beside with a cache that holds NetworkPolicies as that of a real operator does. Its cluster allows the ranges of a cloud provider:
// 16 rules of 256 blocks, which are 90 KiB as sent, and more than MaxHeld in memory.
func heldPolicies(t *testing.T, rules int) (*Reconciler, *view.View) {
	t.Helper()
	r, v := beside(t)
	live, is := r.Client.(client.WithWatch)
	if !is {
		t.Fatalf("the client is a %T", r.Client)
	}
	r.Client = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			policy, is := into.(*networkingv1.NetworkPolicy)
			if err := c.Get(ctx, key, into, options...); err != nil || !is {
				return err
			}
			kept, err := kubecache.Strip(policy.DeepCopy())
			if held, is := kept.(*networkingv1.NetworkPolicy); is {
				*policy = *held
			}
			return err
		},
	})
	setPeersOfFlag(t, r)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3))
	v.Spec.NetworkPolicy = &v1beta2.MemberNetworkPolicy{}
	for i := range rules {
		var rule networkingv1.NetworkPolicyIngressRule
		for j := range 256 {
			rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: fmt.Sprintf("203.%d.%d.128/26", i, j)}})
		}
		v.Spec.NetworkPolicy.Ingress = append(v.Spec.NetworkPolicy.Ingress, rule)
	}
	return r, v
}

// seePolicy reads the NetworkPolicy as a new pass does.
func seePolicy(t *testing.T, r *Reconciler, v *view.View) state.NetworkPolicy {
	t.Helper()
	v.NetworkPolicy = state.NetworkPolicy{}
	if err := r.observer.ObserveNetworkPolicy(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	return v.NetworkPolicy
}

// policyChanges are what others may do to a NetworkPolicy. Those whose name begins with "others" change nothing that the operator sets.
var policyChanges = map[string]func(*networkingv1.NetworkPolicy){
	"none":              func(*networkingv1.NetworkPolicy) {},
	"a rule is removed": func(p *networkingv1.NetworkPolicy) { p.Spec.Ingress = p.Spec.Ingress[:len(p.Spec.Ingress)-1] },
	"a block is another one": func(p *networkingv1.NetworkPolicy) {
		last(p).From[0] = networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0"}}
	},
	"it selects other Pods": func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector = metav1.LabelSelector{} },
	"it limits outgoing connections": func(p *networkingv1.NetworkPolicy) {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	},
	"a label is removed": func(p *networkingv1.NetworkPolicy) { delete(p.Labels, v1beta2.LabelApp) },
	"others add a long annotation": func(p *networkingv1.NetworkPolicy) {
		p.Annotations = map[string]string{"a": strings.Repeat("x", 400<<10)}
	},
	"others add labels": func(p *networkingv1.NetworkPolicy) { p.Labels["team"] = "shop" },
}

// A user allows the published ranges of a cloud provider. The cache dropped the rules, so the operator wrote the same NetworkPolicy in each pass, and
// did not see that somebody had changed it.
func TestANetworkPolicyOfAnySizeIsAppliedOnceAndAfterEachChange(t *testing.T) {
	for name, rules := range map[string]int{"no rule of the user": 0, "the ranges of a cloud provider": 16} {
		for _, open := range []bool{false, true} {
			r, v := heldPolicies(t, rules)
			step := steps.ApplyNetworkPolicy{OpenPeers: open}
			if want := objects.NetworkPolicy(v.State, step, *r.observer.NetworkPeers); rules > 0 && kubecache.HeldSize(want) <= kubecache.MaxHeld {
				t.Fatalf("the NetworkPolicy takes %d bytes, which is no test", kubecache.HeldSize(want))
			}
			if err := r.actor.Act(t.Context(), v, step); err != nil {
				t.Fatal(err)
			}
			var applied networkingv1.NetworkPolicy
			if err := r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, &applied); err != nil {
				t.Fatal(err)
			}
			for change, by := range policyChanges {
				changePolicy(t, r, v, func(p *networkingv1.NetworkPolicy) {
					p.Labels, p.Annotations, p.Spec = maps.Clone(applied.Labels), nil, *applied.Spec.DeepCopy()
					by(p)
				})
				current := change == "none" || strings.HasPrefix(change, "others")
				if saw := seePolicy(t, r, v); !saw.Exists || saw.Current != current || saw.OpenPeers != open {
					t.Errorf("%s, open %t, %s: the pass sees %+v", name, open, change, saw)
				}
			}
		}
	}
}

func last(p *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicyIngressRule {
	return &p.Spec.Ingress[len(p.Spec.Ingress)-1]
}

func changePolicy(t *testing.T, r *Reconciler, v *view.View, by func(*networkingv1.NetworkPolicy)) {
	t.Helper()
	var live networkingv1.NetworkPolicy
	if err := r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, &live); err != nil {
		t.Fatal(err)
	}
	by(&live)
	if err := r.Client.Update(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
}

// The cache had no UID of a large NetworkPolicy, so a user who removed spec.networkPolicy kept the rules: each deletion failed.
func TestALargeNetworkPolicyIsDeletedWithTheField(t *testing.T) {
	r, v := heldPolicies(t, 16)
	if err := r.actor.Act(t.Context(), v, steps.ApplyNetworkPolicy{}); err != nil {
		t.Fatal(err)
	}
	changePolicy(t, r, v, func(p *networkingv1.NetworkPolicy) { p.UID = "uid-policy" })
	v.Spec.NetworkPolicy = nil
	if err := r.actor.Act(t.Context(), v, steps.WithdrawNetworkPolicy{}); err != nil {
		t.Error(err)
	}
	err := r.APIReader.Get(t.Context(), client.ObjectKey{Namespace: v.Namespace, Name: v.Name}, &networkingv1.NetworkPolicy{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the NetworkPolicy is still there: %v", err)
	}
}

// An informer may give strip what strip has returned, and the operator watches for a new generation.
func TestADigestedNetworkPolicyKeepsItsDigestAndGeneration(t *testing.T) {
	r, v := heldPolicies(t, 16)
	policy := objects.NetworkPolicy(v.State, steps.ApplyNetworkPolicy{}, *r.observer.NetworkPeers)
	policy.Generation, policy.UID = 7, "uid"
	first, err := kubecache.Strip(policy)
	if err != nil {
		t.Fatal(err)
	}
	second, err := kubecache.Strip(first)
	if err != nil {
		t.Fatal(err)
	}
	held, is := second.(*networkingv1.NetworkPolicy)
	if !is || held.Generation != 7 || held.UID != "uid" || objects.Digest(held.Spec) != objects.Digest(policy.Spec) || kubecache.HeldSize(held) > kubecache.MaxForeign {
		t.Errorf("the cache holds %+v", second)
	}
}

package cluster

import (
	"errors"
	"maps"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/test/netpolicy"
)

// sidecar is a port of a container of the user.
const sidecar = 9979

const peersFlag = `{
	"operator": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}, "podSelector": {"matchLabels": {"component": "cluster-operator"}}}],
	"clients": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}}, "podSelector": {"matchLabels": {"component": "backup-operator"}}}],
	"metrics": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]}`

func peersOfFlag(t *testing.T) *networkPeers {
	t.Helper()
	peers, err := parseNetworkPeers(peersFlag)
	if err != nil {
		t.Fatal(err)
	}
	return peers
}

func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func limited(asked v1beta2.MemberNetworkPolicy) change {
	return func(s *plan.State) { s.Spec.NetworkPolicy = &asked }
}

// everyPeer is a policy with all fields.
var everyPeer = v1beta2.MemberNetworkPolicy{
	ClientsFrom: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: matching("team", "shop"), PodSelector: matching("app", "web")}, {IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}},
	MetricsFrom: []networkingv1.NetworkPolicyPeer{{PodSelector: matching("app", "prometheus")}},
	Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(sidecar))}}}},
}

func TestNetworkPolicies(t *testing.T) {
	golden(t, "network-policy", networkPolicy(state(formed, members(3), limited(v1beta2.MemberNetworkPolicy{})), plan.ApplyNetworkPolicy{}, *peersOfFlag(t)))
	golden(t, "network-policy-full", networkPolicy(state(formed, members(3), limited(everyPeer)), plan.ApplyNetworkPolicy{OpenPeers: true}, *peersOfFlag(t)))
}

// endIn is an end of a connection in a namespace of that name.
func endIn(namespace string, labels map[string]string) netpolicy.End {
	return netpolicy.End{Namespace: namespace, NamespaceLabels: map[string]string{"kubernetes.io/metadata.name": namespace}, Labels: labels}
}

// everyPod returns the labels of each Pod that this operator creates, and of those that an earlier release created.
func everyPod() map[string]netpolicy.End {
	all := map[string]netpolicy.End{}
	for name, test := range podTests {
		labels := newPod(test.state, test.member, seedImage).Labels
		all[name] = endIn("ns", labels)
		earlier := maps.Clone(labels)
		delete(earlier, v1beta2.LabelClusterUID)
		delete(earlier, labelVoter)
		all[name+" of an earlier release"] = endIn("ns", earlier)
	}
	return all
}

// A policy that does not know one kind of Pod takes a running cluster its quorum, its restore or its recovery.
func TestEachPodOfAMemberReachesWhatItNeedsAndIsReached(t *testing.T) {
	pods, clusterOperator, backupOperator := everyPod(), endIn("ops", map[string]string{"component": "cluster-operator"}), endIn("ops", map[string]string{"component": "backup-operator"})
	for asked, policy := range map[string]v1beta2.MemberNetworkPolicy{"nothing": {}, "everything": everyPeer} {
		for _, open := range []bool{false, true} {
			policies := []networkingv1.NetworkPolicy{*networkPolicy(state(formed, members(3), limited(policy)), plan.ApplyNetworkPolicy{OpenPeers: open}, *peersOfFlag(t))}
			expect := func(from, to netpolicy.End, what string, ports ...int32) {
				t.Helper()
				for _, port := range ports {
					if !netpolicy.Allows(policies, from, to, port) {
						t.Errorf("with a policy that asks for %s, %s does not reach port %d", asked, what, port)
					}
				}
			}
			for name, to := range pods {
				for other, from := range pods {
					expect(from, to, other+" of "+name, v1beta2.PeerPort, v1beta2.ClientPort)
				}
				expect(clusterOperator, to, "cluster-operator of "+name, v1beta2.ClientPort, v1beta2.PeerPort, v1beta2.MetricsPort)
				expect(backupOperator, to, "backup-operator of "+name, v1beta2.ClientPort)
			}
		}
	}
}

// Each port that a container of the operator's has must be one that the policy is about: a new one would be closed to all.
func TestEachPortOfAMemberIsOneThatTheOperatorReaches(t *testing.T) {
	known := []int32{v1beta2.ClientPort, v1beta2.PeerPort, v1beta2.MetricsPort}
	if !slices.Contains(known, seed.ProgressPort) {
		t.Errorf("cluster-operator does not reach port %d of a seed. Add it to networkPolicy", seed.ProgressPort)
	}
	for name, test := range podTests {
		spec := newPod(test.state, test.member, seedImage).Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			if container.Name != plan.EtcdContainer && container.Name != seedContainer {
				continue // it is the user's
			}
			for _, port := range container.Ports {
				if !slices.Contains(known, port.ContainerPort) {
					t.Errorf("%s: nobody reaches port %d of container %s. Add it to networkPolicy", name, port.ContainerPort, container.Name)
				}
			}
		}
	}
}

// Each of these ends could write to the cluster, or join it, without a policy.
func TestOthersDoNotReachAMember(t *testing.T) {
	member := everyPod()["rejoin"]
	web, other := endIn("ns", map[string]string{"app": "web"}), endIn("other", map[string]string{"app": "web"})
	sibling := endIn("ns", map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "sibling"})
	namesake := endIn("other", member.Labels)
	backup, prometheus := endIn("ops", map[string]string{"component": "backup-operator"}), endIn("monitoring", nil)
	shop := endIn("shop", map[string]string{"app": "web"})
	shop.NamespaceLabels["team"] = "shop"
	for name, test := range map[string]struct {
		asked v1beta2.MemberNetworkPolicy
		open  bool
		from  netpolicy.End
		reach []int32
	}{
		"a Pod of the namespace is a client":                      {from: web, reach: []int32{2379}},
		"a Pod of the namespace is none if clients are named":     {asked: everyPeer, from: web},
		"a client that is named":                                  {asked: everyPeer, from: shop, reach: []int32{2379}},
		"an address that is named":                                {asked: everyPeer, from: netpolicy.End{Address: "192.0.2.7"}, reach: []int32{2379}},
		"a Pod of another namespace":                              {from: other},
		"an address outside of Kubernetes":                        {from: netpolicy.End{Address: "192.0.2.7"}},
		"a member of another cluster is only a client":            {from: sibling, reach: []int32{2379}},
		"a member of a cluster of that name in another namespace": {from: namesake},
		"backup-operator":                                         {from: backup, reach: []int32{2379}},
		"Prometheus, which the administrator allows":              {from: prometheus, reach: []int32{2381}},
		"everyone reaches the peer port beside foreign members":   {open: true, from: other, reach: []int32{2380}},
	} {
		policies := []networkingv1.NetworkPolicy{*networkPolicy(state(formed, members(3), limited(test.asked)), plan.ApplyNetworkPolicy{OpenPeers: test.open}, *peersOfFlag(t))}
		for _, port := range []int32{2379, 2380, 2381, sidecar} {
			want := slices.Contains(test.reach, port) || port == sidecar && test.asked.Ingress != nil
			if got := netpolicy.Allows(policies, test.from, member, port); got != want {
				t.Errorf("%s: reaches port %d: %t, want %t", name, port, got, want)
			}
		}
	}
}

// A policy without the operator would cut it off from its own members.
func TestPeersWithoutTheOperatorAreRefused(t *testing.T) {
	for text, valid := range map[string]bool{
		peersFlag: true, "not JSON": false, "{}": false, `{"operator": []}`: false, `{"operator": [{}]}`: false,
		`{"operators": [{"podSelector": {}}]}`: false, `{"operator": [{"podSelector": {}}], "clients": [{}]}`: false,
		`{"operator": [{"podSelector": {}, "ipBlock": {"cidr": "192.0.2.0/24"}}]}`: false,
	} {
		if peers, err := parseNetworkPeers(text); (peers != nil) != valid || (err == nil) != valid {
			t.Errorf("%s: %+v, %v", text, peers, err)
		}
	}
	if peers, err := parseNetworkPeers(""); peers != nil || err != nil {
		t.Errorf("without the flag: %+v, %v", peers, err)
	}
}

func TestTheNetworkPolicyOfAUserIsNotTakenOver(t *testing.T) {
	users := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
	r, v := beside(t, users)
	r.networkPeers = peersOfFlag(t)
	observe := func() {
		t.Helper()
		v.Foreign, v.NetworkPolicy = nil, plan.NetworkPolicy{}
		if err := r.observeNetworkPolicy(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if observe(); len(v.Foreign) > 0 || v.NetworkPolicy != (plan.NetworkPolicy{}) {
		t.Errorf("a policy that the spec does not ask for is reported: %+v", v.Foreign)
	}
	limited(v1beta2.MemberNetworkPolicy{})(&v.State)
	if observe(); !v.IsForeign("NetworkPolicy", "example") {
		t.Errorf("foreign objects are %+v", v.Foreign)
	}
	for _, step := range []plan.Step{plan.ApplyNetworkPolicy{}, plan.WithdrawNetworkPolicy{}} {
		if err := r.act(t.Context(), v, step); !errors.Is(err, errForeign) {
			t.Errorf("%T: got %v, want a refusal", step, err)
		}
	}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(users), users); err != nil || len(users.Spec.Ingress) > 0 {
		t.Errorf("the user's policy is now %+v, %v", users, err)
	}
}

func TestANetworkPolicyIsCreatedCorrectedAndDeleted(t *testing.T) {
	r, v := beside(t)
	r.networkPeers = peersOfFlag(t)
	limited(everyPeer)(&v.State)
	state := func(want plan.NetworkPolicy) {
		t.Helper()
		v.NetworkPolicy = plan.NetworkPolicy{}
		if err := r.observeNetworkPolicy(t.Context(), v); err != nil || v.NetworkPolicy != want {
			t.Errorf("the policy is %+v, want %+v: %v", v.NetworkPolicy, want, err)
		}
	}
	do := func(step plan.Step) {
		t.Helper()
		if err := r.act(t.Context(), v, step); err != nil {
			t.Fatal(err)
		}
	}
	state(plan.NetworkPolicy{})
	do(plan.ApplyNetworkPolicy{OpenPeers: true})
	state(plan.NetworkPolicy{Exists: true, Current: true, OpenPeers: true})
	do(plan.ApplyNetworkPolicy{})
	state(plan.NetworkPolicy{Exists: true, Current: true})
	everyone := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
	if err := r.Client.Patch(t.Context(), everyone, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ingress":[{}]}}`))); err != nil {
		t.Fatal(err)
	}
	state(plan.NetworkPolicy{Exists: true}) // a person has opened it, and not the operator for foreign members
	v.Spec.NetworkPolicy.Ingress = nil
	state(plan.NetworkPolicy{Exists: true})
	do(plan.WithdrawNetworkPolicy{})
	state(plan.NetworkPolicy{})
	r.networkPeers = nil
	state(plan.NetworkPolicy{Unmanaged: true})
	if err := r.act(t.Context(), v, plan.ApplyNetworkPolicy{}); !errors.Is(err, errNoPeers) {
		t.Errorf("a policy that does not allow the operator is written: %v", err)
	}
}

// A change of who may connect must restart nobody.
func TestANetworkPolicyIsNoPartOfAPod(t *testing.T) {
	test := podTests["rejoin"]
	limitedState := test.state
	limited(everyPeer)(&limitedState)
	if template(test.state) != template(limitedState) || text(metadata(test.state)) != text(metadata(limitedState)) {
		t.Error("networkPolicy is part of what a Pod is made for, so the operator restarts the members")
	}
}

// A controller of the network plugin was switched off and left its finalizer. Deleting the policy again in each pass ended all repairs.
func TestAPolicyThatAFinalizerKeepsDoesNotStopTheRepairs(t *testing.T) {
	meta := controlled("uid-example", "example", map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "example"})
	meta.Finalizers = []string{"networking.k8s.aws/resources"}
	r, v := beside(t, &networkingv1.NetworkPolicy{ObjectMeta: meta})
	r.networkPeers = peersOfFlag(t)
	v.State = state(formed, members(3), with(1, withoutPod)) // spec.networkPolicy was removed
	var steps []plan.Step
	for range 3 {
		v.NetworkPolicy = plan.NetworkPolicy{}
		if err := r.observeNetworkPolicy(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		step, err := r.planAndAct(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if _, withdraws := steps[0].(plan.WithdrawNetworkPolicy); !withdraws {
		t.Errorf("the first step is %T", steps[0])
	}
	if _, repairs := steps[2].(plan.CreateMember); !repairs {
		t.Errorf("the steps are %T", steps)
	}
}

package objects

import (
	"maps"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/test/netpolicy"
)

func peersOfFlag(t *testing.T) *NetworkPeers {
	t.Helper()
	peers, err := ParseNetworkPeers(clustertest.PeersFlag)
	if err != nil {
		t.Fatal(err)
	}
	return peers
}

func TestNetworkPolicies(t *testing.T) {
	clustertest.Golden(t, "network-policy", NetworkPolicy(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Limited(v1beta2.MemberNetworkPolicy{})), steps.ApplyNetworkPolicy{}, *peersOfFlag(t)))
	clustertest.Golden(t, "network-policy-full", NetworkPolicy(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Limited(clustertest.EveryPeer)), steps.ApplyNetworkPolicy{OpenPeers: true}, *peersOfFlag(t)))
}

// endIn is an end of a connection in a namespace of that name.
func endIn(namespace string, labels map[string]string) netpolicy.End {
	return netpolicy.End{Namespace: namespace, NamespaceLabels: map[string]string{"kubernetes.io/metadata.name": namespace}, Labels: labels}
}

// everyPod returns the labels of each Pod that this operator creates, and of those that an earlier release created.
func everyPod() map[string]netpolicy.End {
	all := map[string]netpolicy.End{}
	for name, test := range clustertest.PodTests {
		labels := pods.NewPod(test.State, test.Member, clustertest.SeedImage).Labels
		all[name] = endIn("ns", labels)
		earlier := maps.Clone(labels)
		delete(earlier, v1beta2.LabelClusterUID)
		delete(earlier, pods.LabelVoter)
		all[name+" of an earlier release"] = endIn("ns", earlier)
	}
	return all
}

// A policy that does not know one kind of Pod takes a running cluster its quorum, its restore or its recovery.
func TestEachPodOfAMemberReachesWhatItNeedsAndIsReached(t *testing.T) {
	pods, clusterOperator, backupOperator := everyPod(), endIn("ops", map[string]string{"component": "cluster-operator"}), endIn("ops", map[string]string{"component": "backup-operator"})
	for asked, policy := range map[string]v1beta2.MemberNetworkPolicy{"nothing": {}, "everything": clustertest.EveryPeer} {
		for _, open := range []bool{false, true} {
			policies := []networkingv1.NetworkPolicy{*NetworkPolicy(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Limited(policy)), steps.ApplyNetworkPolicy{OpenPeers: open}, *peersOfFlag(t))}
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
	for name, test := range clustertest.PodTests {
		spec := pods.NewPod(test.State, test.Member, clustertest.SeedImage).Spec
		for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
			if container.Name != lifecycle.EtcdContainer && container.Name != pods.SeedContainer {
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
		"a Pod of the namespace is none if clients are named":     {asked: clustertest.EveryPeer, from: web},
		"a client that is named":                                  {asked: clustertest.EveryPeer, from: shop, reach: []int32{2379}},
		"an address that is named":                                {asked: clustertest.EveryPeer, from: netpolicy.End{Address: "192.0.2.7"}, reach: []int32{2379}},
		"a Pod of another namespace":                              {from: other},
		"an address outside of Kubernetes":                        {from: netpolicy.End{Address: "192.0.2.7"}},
		"a member of another cluster is only a client":            {from: sibling, reach: []int32{2379}},
		"a member of a cluster of that name in another namespace": {from: namesake},
		"backup-operator":                                         {from: backup, reach: []int32{2379}},
		"Prometheus, which the administrator allows":              {from: prometheus, reach: []int32{2381}},
		"everyone reaches the peer port beside foreign members":   {open: true, from: other, reach: []int32{2380}},
	} {
		policies := []networkingv1.NetworkPolicy{*NetworkPolicy(clustertest.State(plantest.Formed, plantest.Members(3), clustertest.Limited(test.asked)), steps.ApplyNetworkPolicy{OpenPeers: test.open}, *peersOfFlag(t))}
		for _, port := range []int32{2379, 2380, 2381, clustertest.Sidecar} {
			want := slices.Contains(test.reach, port) || port == clustertest.Sidecar && test.asked.Ingress != nil
			if got := netpolicy.Allows(policies, test.from, member, port); got != want {
				t.Errorf("%s: reaches port %d: %t, want %t", name, port, got, want)
			}
		}
	}
}

// A policy without the operator would cut it off from its own members.
func TestPeersWithoutTheOperatorAreRefused(t *testing.T) {
	for text, valid := range map[string]bool{
		clustertest.PeersFlag: true, "not JSON": false, "{}": false, `{"operator": []}`: false, `{"operator": [{}]}`: false,
		`{"operators": [{"podSelector": {}}]}`: false, `{"operator": [{"podSelector": {}}], "clients": [{}]}`: false,
		`{"operator": [{"podSelector": {}, "ipBlock": {"cidr": "192.0.2.0/24"}}]}`: false,
	} {
		if peers, err := ParseNetworkPeers(text); (peers != nil) != valid || (err == nil) != valid {
			t.Errorf("%s: %+v, %v", text, peers, err)
		}
	}
	if peers, err := ParseNetworkPeers(""); peers != nil || err != nil {
		t.Errorf("without the flag: %+v, %v", peers, err)
	}
}

// A change of who may connect must restart nobody.
func TestANetworkPolicyIsNoPartOfAPod(t *testing.T) {
	test := clustertest.PodTests["rejoin"]
	limitedState := test.State
	clustertest.Limited(clustertest.EveryPeer)(&limitedState)
	if pods.Template(test.State) != pods.Template(limitedState) || pods.Text(pods.Metadata(test.State)) != pods.Text(pods.Metadata(limitedState)) {
		t.Error("networkPolicy is part of what a Pod is made for, so the operator restarts the members")
	}
}

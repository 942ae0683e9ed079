package chart

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/etcd-suite/etcd-operator/test/netpolicy"
)

type networkPeers struct {
	Operator, Clients, Metrics []networkingv1.NetworkPolicyPeer
}

// networkPeersFlag returns what the flag of cluster-operator says in a namespace, as Kubernetes expands it; false without the flag.
func networkPeersFlag(t *testing.T, r release, namespace string) (networkPeers, bool) {
	t.Helper()
	container := r.deployment(t, clusterOperator).Spec.Template.Spec.Containers[0]
	for _, arg := range container.Args {
		value, is := strings.CutPrefix(arg, "--network-policy-peers=")
		if !is {
			continue
		}
		ofPod := func(e corev1.EnvVar) bool {
			return e.Name == "OPERATOR_NAMESPACE" && e.ValueFrom != nil && e.ValueFrom.FieldRef.FieldPath == "metadata.namespace"
		}
		if !slices.ContainsFunc(container.Env, ofPod) {
			t.Errorf("the flag needs the variable OPERATOR_NAMESPACE: %+v", container.Env)
		}
		var peers networkPeers
		if err := json.Unmarshal([]byte(strings.ReplaceAll(value, "$(OPERATOR_NAMESPACE)", namespace)), &peers); err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		return peers, true
	}
	return networkPeers{}, false
}

// namesPods reports whether peers select the Pods of a component in a namespace.
func namesPods(t *testing.T, r release, peers []networkingv1.NetworkPolicyPeer, component, namespace string) bool {
	t.Helper()
	policy := networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers}}}}
	policy.Namespace = "team"
	from := netpolicy.End{
		Namespace: namespace, NamespaceLabels: map[string]string{"kubernetes.io/metadata.name": namespace},
		Labels: r.deployment(t, component).Spec.Template.Labels,
	}
	return len(peers) > 0 && netpolicy.Allows([]networkingv1.NetworkPolicy{policy}, from, netpolicy.End{Namespace: "team"}, 2379)
}

// If the flag does not name the operators, the NetworkPolicies of all EtcdClusters cut them off: no repair, no backup, no restore.
func TestNetworkPoliciesOfMembersAllowTheOperatorsOfTheRelease(t *testing.T) {
	for name, values := range map[string]string{
		"the defaults":         "",
		"other names":          "nameOverride: suite\nfullnameOverride: x\ncommonLabels: {team: storage}",
		"labels of the Pods":   "clusterOperator: {podLabels: {a: b}}\nbackupOperator: {podLabels: {a: c}}",
		"a variable of theirs": "clusterOperator: {extraEnv: [{name: A, value: b}]}",
	} {
		t.Run(name, func(t *testing.T) {
			r := render(t, values)
			for _, namespace := range []string{releaseNamespace, "chosen-by-kustomize"} {
				peers, _ := networkPeersFlag(t, r, namespace)
				if len(peers.Operator) != 1 || !namesPods(t, r, peers.Operator, clusterOperator, namespace) || namesPods(t, r, peers.Operator, backupOperator, namespace) {
					t.Errorf("only cluster-operator reaches all ports: %+v", peers.Operator)
				}
				for component, want := range map[string]bool{backupOperator: true, restoreOperator: true, clusterOperator: false} {
					if got := namesPods(t, r, peers.Clients, component, namespace); got != want {
						t.Errorf("%s is a client: %t, want %t: %+v", component, got, want, peers.Clients)
					}
				}
				if namesPods(t, r, peers.Clients, backupOperator, "other") || len(peers.Metrics) != 0 {
					t.Errorf("a namespace of others is allowed: %+v", peers)
				}
			}
		})
	}
}

func TestTheAdministratorAllowsMorePeers(t *testing.T) {
	const more = `{clients: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: backups}}}], metrics: [{ipBlock: {cidr: 10.0.0.0/8}}]}`
	peers, _ := networkPeersFlag(t, render(t, "backupOperator: {enabled: false}\nclusterOperator: {networkPolicyPeers: "+more+"}"), "ops")
	if len(peers.Clients) != 2 || peers.Clients[1].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != "backups" || len(peers.Metrics) != 1 || peers.Metrics[0].IPBlock.CIDR != "10.0.0.0/8" {
		t.Errorf("the operator reads %+v", peers)
	}
	for _, peer := range []string{"{}", "{pods: {}}", "{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}", "prometheus"} {
		if out, err := template(t, "clusterOperator: {networkPolicyPeers: {metrics: ["+peer+"]}}"); err == nil || !strings.Contains(out+err.Error(), "networkPolicyPeers") {
			t.Errorf("the peer %s is accepted", peer)
		}
	}
}

func TestWithoutTheRightToWriteNetworkPoliciesTheOperatorDoesNotTry(t *testing.T) {
	r := render(t, "clusterOperator: {networkPolicies: false}")
	if peers, is := networkPeersFlag(t, r, "ops"); is {
		t.Errorf("the operator watches NetworkPolicies, which it has no right to: %+v", peers)
	}
	if slices.ContainsFunc(r.rights(clusterOperator), func(right string) bool { return strings.HasSuffix(right, " networkpolicies") }) {
		t.Error("the operator has a right on NetworkPolicies")
	}
}

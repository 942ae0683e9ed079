package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// NetworkPolicy limits who connects to the Pods of members, of all incarnations: a seed must reach nobody, but the members
// that join it must. It selects by the one label that each of these Pods has from its first to its last second. No rule
// has an empty "from" by accident, because that means everyone.
func NetworkPolicy(s state.State, want steps.ApplyNetworkPolicy, allowed NetworkPeers) *networkingv1.NetworkPolicy {
	asked := s.Spec.NetworkPolicy
	if asked == nil {
		asked = &v1beta2.MemberNetworkPolicy{}
	}
	members := metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: s.Name}}
	clients := asked.ClientsFrom
	if len(clients) == 0 {
		clients = []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	}
	var rules []networkingv1.NetworkPolicyIngressRule
	if want.OpenPeers {
		rules = append(rules, OpenedPeers)
	}
	rules = append(rules,
		allow([]networkingv1.NetworkPolicyPeer{{PodSelector: &members}}, v1beta2.ClientPort, v1beta2.PeerPort),
		allow(allowed.Operator, v1beta2.ClientPort, v1beta2.PeerPort, v1beta2.MetricsPort),
		allow(slices.Concat(clients, allowed.Clients), v1beta2.ClientPort),
	)
	if readers := slices.Concat(asked.MetricsFrom, allowed.Metrics); len(readers) > 0 {
		rules = append(rules, allow(readers, v1beta2.MetricsPort))
	}
	for _, rule := range asked.Ingress {
		rules = append(rules, withProtocols(rule))
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      s.Name,
			Labels:    map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: members,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     rules,
		},
	}
}

// OpenedPeers is the first rule of a NetworkPolicy that was made with OpenPeers.
var OpenedPeers = networkingv1.NetworkPolicyIngressRule{Ports: tcp(v1beta2.PeerPort)}

// OpensPeers reports whether a NetworkPolicy was made with OpenPeers. One that a person has opened was not.
func OpensPeers(policy *networkingv1.NetworkPolicy) bool {
	return len(policy.Spec.Ingress) > 0 && equality.Semantic.DeepEqual(policy.Spec.Ingress[0], OpenedPeers)
}

func allow(from []networkingv1.NetworkPolicyPeer, ports ...int32) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{From: from, Ports: tcp(ports...)}
}

func tcp(ports ...int32) []networkingv1.NetworkPolicyPort {
	var all []networkingv1.NetworkPolicyPort
	for _, port := range ports {
		all = append(all, networkingv1.NetworkPolicyPort{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(port))})
	}
	return all
}

// withProtocols sets the protocol that the API server would set. Otherwise the operator would take its answer for a change by others.
func withProtocols(rule networkingv1.NetworkPolicyIngressRule) networkingv1.NetworkPolicyIngressRule {
	rule = *rule.DeepCopy()
	for i := range rule.Ports {
		if rule.Ports[i].Protocol == nil {
			rule.Ports[i].Protocol = ptr.To(corev1.ProtocolTCP)
		}
	}
	return rule
}

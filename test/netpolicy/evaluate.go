// Package netpolicy says what NetworkPolicies allow, as the Kubernetes documentation defines it. The network plugin of the
// local Kubernetes enforces none.
package netpolicy

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// An End is one end of a connection. One without a namespace is no Pod.
type End struct {
	Namespace               string
	NamespaceLabels, Labels map[string]string
	Address                 string
	// Ports are the numbers of named ports.
	Ports map[string]int32
}

// Allows reports whether the policies let a TCP connection in. They select no Pod, or one of their rules allows it. Policies
// only add to each other.
func Allows(policies []networkingv1.NetworkPolicy, from, to End, port int32) bool {
	isolated := false
	for _, policy := range policies {
		spec := policy.Spec
		limits := len(spec.PolicyTypes) == 0 || slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeIngress)
		if policy.Namespace != to.Namespace || !limits || !selects(&spec.PodSelector, to.Labels) {
			continue
		}
		isolated = true
		for _, rule := range spec.Ingress {
			if allowsPort(rule.Ports, to, port) && allowsPeer(rule.From, policy.Namespace, from) {
				return true
			}
		}
	}
	return !isolated
}

func allowsPort(ports []networkingv1.NetworkPolicyPort, to End, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP:
			return false
		case p.Port == nil:
			return true
		case p.Port.Type == intstr.String:
			return to.Ports[p.Port.StrVal] == port
		case p.EndPort != nil:
			return p.Port.IntVal <= port && port <= *p.EndPort
		}
		return p.Port.IntVal == port
	})
}

func allowsPeer(from []networkingv1.NetworkPolicyPeer, namespace string, end End) bool {
	return len(from) == 0 || slices.ContainsFunc(from, func(peer networkingv1.NetworkPolicyPeer) bool {
		switch {
		case peer.IPBlock != nil:
			return within(*peer.IPBlock, end.Address)
		case end.Namespace == "":
			return false
		case peer.NamespaceSelector == nil && end.Namespace != namespace:
			return false
		case peer.NamespaceSelector != nil && !selects(peer.NamespaceSelector, end.NamespaceLabels):
			return false
		}
		return peer.PodSelector == nil || selects(peer.PodSelector, end.Labels)
	})
}

func within(block networkingv1.IPBlock, address string) bool {
	in := func(cidr string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		ip, invalid := netip.ParseAddr(address)
		return err == nil && invalid == nil && prefix.Contains(ip)
	}
	return in(block.CIDR) && !slices.ContainsFunc(block.Except, in)
}

func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(of))
}

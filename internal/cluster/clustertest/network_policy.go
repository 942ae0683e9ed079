package clustertest

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// Sidecar is a port of a container of the user.
const Sidecar = 9979

func matching(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// Limited sets spec.networkPolicy.
func Limited(asked v1beta2.MemberNetworkPolicy) plantest.Change {
	return func(s *state.State) { s.Spec.NetworkPolicy = &asked }
}

// EveryPeer is a policy with all fields.
var EveryPeer = v1beta2.MemberNetworkPolicy{
	ClientsFrom: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: matching("team", "shop"), PodSelector: matching("app", "web")}, {IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}},
	MetricsFrom: []networkingv1.NetworkPolicyPeer{{PodSelector: matching("app", "prometheus")}},
	Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(Sidecar))}}}},
}

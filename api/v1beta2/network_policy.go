package v1beta2

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// MemberNetworkPolicy asks for a NetworkPolicy that limits who connects to the members. Its name is that of the
// EtcdCluster, and the operator changes it in place. No member restarts. It does not limit connections of the members to
// others.
//
// Members reach each other, the kubelet reaches its probes, and the operators reach what they need. An empty value
// limits clients to the Pods of the namespace.
type MemberNetworkPolicy struct {
	// Clients that may connect to port 2379, as in "from" of a NetworkPolicy, at most 64. The administrator of the
	// operators can allow more for all clusters. Default: all Pods of the namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="clientsFrom is empty: remove it to allow all Pods of the namespace, or write {namespaceSelector: {}} to allow all Pods"
	// +kubebuilder:validation:XValidation:rule="self.all(p, has(p.ipBlock) != (has(p.podSelector) || has(p.namespaceSelector)))",message="each entry of clientsFrom needs ipBlock alone, or podSelector, namespaceSelector or both"
	ClientsFrom []networkingv1.NetworkPolicyPeer `json:"clientsFrom,omitempty"`
	// Clients that may read the metrics of members at port 2381, as in "from" of a NetworkPolicy, at most 64. That port has
	// no TLS. The administrator of the operators can allow more for all clusters. Default: only cluster-operator.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="metricsFrom is empty: remove it to allow only cluster-operator, or write {namespaceSelector: {}} to allow all Pods"
	// +kubebuilder:validation:XValidation:rule="self.all(p, has(p.ipBlock) != (has(p.podSelector) || has(p.namespaceSelector)))",message="each entry of metricsFrom needs ipBlock alone, or podSelector, namespaceSelector or both"
	MetricsFrom []networkingv1.NetworkPolicyPeer `json:"metricsFrom,omitempty"`
	// Further rules, as in "ingress" of a NetworkPolicy, at most 16. Without one, the ports of pod.containers
	// are closed. Default: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Ingress []networkingv1.NetworkPolicyIngressRule `json:"ingress,omitempty"`
}

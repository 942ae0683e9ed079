package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// EndpointsStatus lists the URLs at which clients reach the cluster.
type EndpointsStatus struct {
	// URL for clients in this Kubernetes.
	// +optional
	// +listType=atomic
	Internal []string `json:"internal,omitempty"`
	// URLs for clients outside: those addresses of the load balancer that the certificates of members have, and the DNS names of
	// extraNames. With TLS.static or without TLS it has all addresses of the load balancer, because the operator does not know the
	// names of your certificate. It is empty unless spec.service.type is LoadBalancer.
	// +optional
	// +listType=atomic
	External []string `json:"external,omitempty"`
	// Port of each node for clients. It is absent unless spec.service.type is NodePort.
	// +optional
	NodePort int32 `json:"nodePort,omitempty"`
	// Why the load balancer has an address and external is empty.
	// +optional
	Message string `json:"message,omitempty"`
}

// ServicePolicy holds the settings of the Service for clients, <name>-client. The operator changes the Service in place,
// and no member restarts. It keeps what others set on the Service, such as node ports and addresses.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || has(self.type) && self.type == 'LoadBalancer'",message="loadBalancerClass requires type: LoadBalancer: set type, or remove loadBalancerClass"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerSourceRanges) || has(self.type) && self.type == 'LoadBalancer'",message="loadBalancerSourceRanges requires type: LoadBalancer: set type, or remove loadBalancerSourceRanges"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || has(self.type) && self.type != 'ClusterIP'",message="externalTrafficPolicy requires type: NodePort or LoadBalancer: set type, or remove externalTrafficPolicy"
// +kubebuilder:validation:XValidation:rule="!(has(self.type) && self.type == 'LoadBalancer' && has(oldSelf.type) && oldSelf.type == 'LoadBalancer') || has(self.loadBalancerClass) == has(oldSelf.loadBalancerClass) && (!has(self.loadBalancerClass) || self.loadBalancerClass == oldSelf.loadBalancerClass)",message="Kubernetes cannot change the class of a load balancer: set type to ClusterIP first, and then set type and loadBalancerClass"
type ServicePolicy struct {
	// Type of the Service: ClusterIP, NodePort or LoadBalancer. NodePort and LoadBalancer make etcd reachable from
	// outside of the cluster, so use TLS for clients. Default: ClusterIP.
	// +optional
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// Labels to add to the Service, at most 64. The keys app, etcd_* and etcd.database.coreos.com/* are reserved for the
	// operator. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && !key.startsWith('etcd_') && !key.startsWith('etcd.database.coreos.com/'))",message="the label keys app, etcd_* and etcd.database.coreos.com/* are reserved for the operator: choose other keys"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations to add to the Service, at most 64, for example for a load balancer or for external-dns. The keys
	// etcd.database.coreos.com/* are reserved for the operator. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd.database.coreos.com/'))",message="the annotation keys etcd.database.coreos.com/* are reserved for the operator: choose other keys"
	Annotations map[string]string `json:"annotations,omitempty"`
	// Class of the load balancer, as in a Service. It requires type LoadBalancer, and cannot change while the type is
	// LoadBalancer. Default: the class of the cloud.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// Addresses of clients that the load balancer accepts, in CIDR notation, at most 64. It requires type LoadBalancer.
	// Default: all addresses.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.all(range, range.matches('^([0-9]{1,3}([.][0-9]{1,3}){3}/[0-9]{1,2}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*/[0-9]{1,3})$'))",message="loadBalancerSourceRanges must be addresses in CIDR notation: write for example 10.0.0.0/8"
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
	// Which members Kubernetes prefers for a client, as in a Service: PreferClose, PreferSameZone or PreferSameNode. Each
	// member forwards writes to the leader. Kubernetes 1.30 ignores it. Default: all members alike.
	// +optional
	// +kubebuilder:validation:Enum=PreferClose;PreferSameZone;PreferSameNode
	TrafficDistribution *string `json:"trafficDistribution,omitempty"`
	// Where a node sends traffic from outside: to members on all nodes (Cluster), or to its own members only (Local). Local
	// keeps the client's address. It requires type NodePort or LoadBalancer. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}

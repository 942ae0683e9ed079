package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// ImagePolicy decides which image the members run.
type ImagePolicy struct {
	// Image of etcd without its tag, for example registry.k8s.io/etcd. If you write it, remove spec.repository. The image
	// must have etcd at /usr/local/bin/etcd. Default: spec.repository.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`
	// Tag of the image. "{version}" stands for spec.version without a leading "v", and must occur once, so that another
	// version is another image. For registry.k8s.io/etcd:3.6.16-0 write "{version}-0", or put the -0 into spec.version.
	// Default: "v{version}".
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^([A-Za-z0-9_][A-Za-z0-9_.-]*)?[{]version[}][A-Za-z0-9_.-]*$')",message="tag must contain {version} once, beside letters, digits, '_', '.' and '-': write for example \"{version}-0\""
	Tag string `json:"tag,omitempty"`
	// Digest of the image of spec.version, for example sha256: and 64 hex digits. Nodes then run this image, whatever its
	// tag refers to. Change it together with spec.version. While the operator keeps members on another version, they
	// keep their image. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^sha256:[0-9a-f]{64}$')",message="digest must be sha256: and 64 hex digits in lower case"
	Digest string `json:"digest,omitempty"`
	// When a node pulls the image: Always, IfNotPresent or Never. A change restarts members one at a time. Default:
	// IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

const (
	versionInTag = "{version}"
	defaultTag   = "v" + versionInTag
)

// MetadataPolicy holds the labels and annotations of every object that the operator creates for the cluster. The operator
// changes them in place, and no member restarts. If an entry is removed here, the operator removes it from the objects. It
// keeps what others set on them.
type MetadataPolicy struct {
	// Labels to add to every object, at most 32. On Pods, those of pod.labels win, and on the client Service, those of
	// service.labels. Reserved are the keys app and etcd_*, and the domains etcd.database.coreos.com, cert-manager.io,
	// kubernetes.io and k8s.io, except app.kubernetes.io. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && !key.startsWith('etcd_'))",message="the label keys app and etcd_* are reserved for the operator: choose other keys"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.startsWith('app.kubernetes.io/') || !key.matches('^(.*[.])?(kubernetes[.]io|k8s[.]io|cert-manager[.]io|etcd[.]database[.]coreos[.]com)/'))",message="the domains kubernetes.io, k8s.io, cert-manager.io and etcd.database.coreos.com are reserved: choose keys of another domain, of app.kubernetes.io, or without one. What is for Pods only belongs into pod.labels, and what is for the client Service into service.labels"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="a key is a name of at most 63 characters, after a domain and a slash if it has one: write for example cost-center or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))",message="the value of a label has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
	Labels map[string]LabelValue `json:"labels,omitempty"`
	// Annotations to add to every object except Secrets, at most 32, with at most 512 characters each. On Pods, those of
	// pod.annotations win, and on the client Service, those of service.annotations. The reserved keys are etcd.version and
	// the domains of labels. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'etcd.version')",message="the annotation key etcd.version is reserved for the operator: choose another key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.startsWith('app.kubernetes.io/') || !key.matches('^(.*[.])?(kubernetes[.]io|k8s[.]io|cert-manager[.]io|etcd[.]database[.]coreos[.]com)/'))",message="the domains kubernetes.io, k8s.io, cert-manager.io and etcd.database.coreos.com are reserved: choose keys of another domain, of app.kubernetes.io, or without one. What is for Pods only belongs into pod.annotations, and what is for the client Service into service.annotations"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",message="a key is a name of at most 63 characters, after a domain and a slash if it has one: write for example cost-center or example.com/team"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation.
//
// +kubebuilder:validation:MaxLength=512
type AnnotationValue string

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

package v1beta2

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is one etcd cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,shortName=etcd,categories=etcd-operator
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.size`,description="members ready"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.currentVersion`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Cluster ID",type=string,priority=1,JSONPath=`.status.clusterID`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="the name of an EtcdCluster has at most 52 characters, because its members' names add 11: choose a shorter one"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of an EtcdCluster is also that of its Services: lower-case letters, digits and '-', and it starts with a letter"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.clusterID) || oldSelf.status.clusterID.size() == 0 || ((has(self.spec.TLS) && has(self.spec.TLS.managed)) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.managed)) && (has(self.spec.TLS) && has(self.spec.TLS.certManager)) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.certManager)) && (has(self.spec.TLS) && has(self.spec.TLS.static) && has(self.spec.TLS.static.member) && has(self.spec.TLS.static.member.peerSecret) && self.spec.TLS.static.member.peerSecret.size() > 0) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.static) && has(oldSelf.spec.TLS.static.member) && has(oldSelf.spec.TLS.static.member.peerSecret) && oldSelf.spec.TLS.static.member.peerSecret.size() > 0) && (has(self.spec.TLS) && has(self.spec.TLS.static) && has(self.spec.TLS.static.operatorSecret) && self.spec.TLS.static.operatorSecret.size() > 0) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.static) && has(oldSelf.spec.TLS.static.operatorSecret) && oldSelf.spec.TLS.static.operatorSecret.size() > 0))",message="spec.TLS cannot be turned on or off, nor can its certificates come from elsewhere, under a running cluster: to change it, save a snapshot and restore it into a new EtcdCluster"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec EtcdClusterSpec `json:"spec"`
	// status is what cluster-operator saw. Nobody else writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status EtcdClusterStatus `json:"status,omitempty"`
}

// EtcdClusterList is a list of EtcdClusters.
//
// +kubebuilder:object:root=true
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdCluster `json:"items"`
}

// EtcdClusterSpec is the desired state of a cluster.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.recovery) && has(self.recovery.quorumLoss) && self.recovery.quorumLoss == 'ForceNewCluster' && has(self.pod) && has(self.pod.emptyDir))",message="quorumLoss: ForceNewCluster restarts a member on its volume, and with pod.emptyDir there is none: remove one of the two; an EtcdRestore goes on from a snapshot"
// +kubebuilder:validation:XValidation:rule="!(has(self.hibernate) && self.hibernate && has(self.pod) && has(self.pod.emptyDir))",message="hibernate stops all Pods, and with pod.emptyDir all data is lost with them: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!(has(self.hibernate) && self.hibernate && has(oldSelf.hibernate) && oldSelf.hibernate && has(self.version) && has(oldSelf.version) && self.version != oldSelf.version)",message="the version of a cluster cannot change while it hibernates: set hibernate to false first"
type EtcdClusterSpec struct {
	// size is the number of members: 3 survives the loss of one, 5 of two.
	// +required
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 7",message="size is 1 to 7: write 3 (survives the loss of one member) or 5 (of two)"
	Size int `json:"size"`
	// repository is the image without its tag; the tag is "v" and the version. Empty means the default.
	// +optional
	// +kubebuilder:default="quay.io/coreos/etcd"
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`
	// version of etcd, for example "3.6.16". A leading "v" is ignored. Empty means the default.
	// +optional
	// +kubebuilder:default="3.6.16"
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$')",message="version is three numbers, for example \"3.6.16\" (quoted)"
	Version string `json:"version,omitempty"`
	// paused true makes the operator keep its hands off this cluster. Deletion still works.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// hibernate true stops all members and keeps their volumes, the cluster's ID and its Services; false wakes it
	// up with the same members and data.
	// +optional
	Hibernate bool `json:"hibernate,omitempty"`
	// persistentVolumeClaimRetentionPolicy says what becomes of the members' volumes.
	// +optional
	VolumeRetention *VolumeRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	// pod shapes the members' Pods and volumes.
	// +optional
	Pod *PodPolicy `json:"pod,omitempty"`
	// TLS says how members and clients prove who they are. Without it traffic is plain.
	// +optional
	TLS *TLSPolicy `json:"TLS,omitempty"`
	// recovery says what the operator does by itself about members that do not come back.
	// +optional
	Recovery *RecoveryPolicy `json:"recovery,omitempty"`
	// noSpace says what the operator does by itself when members have used up their space quota.
	// +optional
	NoSpace *NoSpacePolicy `json:"noSpace,omitempty"`
	// defragmentation says when members give the free space in their database files back. Without it only when the
	// space quota is used up.
	// +optional
	Defragmentation *DefragmentationPolicy `json:"defragmentation,omitempty"`
}

// DefaultRepository and DefaultVersion are the schema's defaults, for objects that were stored before them.
const (
	DefaultRepository = "quay.io/coreos/etcd"
	DefaultVersion    = "3.6.16"
)

// EtcdVersion is spec.version without a leading "v".
func (s *EtcdClusterSpec) EtcdVersion() string {
	if s.Version == "" {
		return DefaultVersion
	}
	return strings.TrimPrefix(s.Version, "v")
}

// Image is the image of the etcd container.
func (s *EtcdClusterSpec) Image() string {
	repository := s.Repository
	if repository == "" {
		repository = DefaultRepository
	}
	return repository + ":v" + s.EtcdVersion()
}

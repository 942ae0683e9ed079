package v1beta2

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// EtcdCluster is one etcd cluster: its members, their volumes, and the Services in front of them.
//
// For each member the operator creates one Pod and one PersistentVolumeClaim of the same name. It creates two
// Services: <name> (headless, for members) and <name>-client (port 2379, for clients). A PodDisruptionBudget named
// <name> protects the quorum. A NetworkPolicy named <name> exists only if networkPolicy asks for it. Kubernetes deletes
// all of them with the EtcdCluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,shortName=etcd,categories=etcd-operator
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.readyMembers`,description="number of ready members and of those that the spec asks for"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.currentVersion`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Available",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Member URL",type=string,priority=1,JSONPath=`.status.memberStatuses[0].clientURL`,description="URL of a member for clients: https with TLS, and http without it"
// +kubebuilder:printcolumn:name="Cluster ID",type=string,priority=1,JSONPath=`.status.clusterID`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="the name of an EtcdCluster can have at most 52 characters, because its members' names add 11: choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of an EtcdCluster is also the name of a Service. Use lower-case letters, digits and '-'. Start with a letter, and end with a letter or digit"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !self.metadata.name.endsWith('-client')",optionalOldSelf=true,message="the name of a new EtcdCluster cannot end in -client, because <name>-client is the Service of another EtcdCluster: choose another name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.clusterID) || oldSelf.status.clusterID.size() == 0 || ((has(self.spec.TLS) && has(self.spec.TLS.managed)) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.managed)) && (has(self.spec.TLS) && has(self.spec.TLS.certManager)) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.certManager)) && (has(self.spec.TLS) && has(self.spec.TLS.static) && has(self.spec.TLS.static.member) && has(self.spec.TLS.static.member.peerSecret) && self.spec.TLS.static.member.peerSecret.size() > 0) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.static) && has(oldSelf.spec.TLS.static.member) && has(oldSelf.spec.TLS.static.member.peerSecret) && oldSelf.spec.TLS.static.member.peerSecret.size() > 0) && (has(self.spec.TLS) && has(self.spec.TLS.static) && has(self.spec.TLS.static.operatorSecret) && self.spec.TLS.static.operatorSecret.size() > 0) == (has(oldSelf.spec.TLS) && has(oldSelf.spec.TLS.static) && has(oldSelf.spec.TLS.static.operatorSecret) && oldSelf.spec.TLS.static.operatorSecret.size() > 0))",message="after the cluster has formed, spec.TLS cannot be turned on or off or get another source of certificates. Save a snapshot and restore it into a new EtcdCluster instead"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired state of the cluster.
	// +required
	Spec EtcdClusterSpec `json:"spec"`
	// Observed state of the cluster. Only cluster-operator writes it.
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
// +kubebuilder:validation:XValidation:rule="!(has(self.recovery) && has(self.recovery.quorumLoss) && self.recovery.quorumLoss == 'ForceNewCluster' && has(self.pod) && has(self.pod.emptyDir))",message="quorumLoss: ForceNewCluster needs a volume, and pod.emptyDir has none: remove one of the two; without volumes, recover with an EtcdRestore"
// +kubebuilder:validation:XValidation:rule="!(has(self.hibernate) && self.hibernate && has(self.pod) && has(self.pod.emptyDir))",message="hibernate stops all Pods, and pod.emptyDir loses its data with its Pod: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!(has(self.hibernate) && self.hibernate && has(oldSelf.hibernate) && oldSelf.hibernate && has(self.version) && has(oldSelf.version) && self.version != oldSelf.version)",message="version cannot change while the cluster hibernates: set hibernate to false first"
// +kubebuilder:validation:XValidation:rule="!(has(self.image) && has(self.image.repository) && self.image.repository.size() > 0 && has(self.repository) && self.repository.size() > 0 && self.repository != 'quay.io/coreos/etcd')",message="repository and image.repository both name the image: remove repository"
// +kubebuilder:validation:XValidation:rule="!(has(self.image) && has(self.image.digest) && self.image.digest.size() > 0) || has(self.version) && self.version.size() > 0",message="image.digest belongs to one version: write version, too"
// +kubebuilder:validation:XValidation:rule="!(has(self.image) && has(self.image.digest) && self.image.digest.size() > 0 && has(oldSelf.image) && has(oldSelf.image.digest) && self.image.digest == oldSelf.image.digest && has(self.version) && has(oldSelf.version) && self.version != oldSelf.version)",message="image.digest belongs to the previous version, so the members would not change: write the digest of the new version, or remove image.digest"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.quotaBackendBytes) || has(self.pod) && has(self.pod.emptyDir) && !has(self.pod.emptyDir.sizeLimit) || quantity(string(self.etcd.quotaBackendBytes)).compareTo(has(self.pod) && has(self.pod.emptyDir) ? quantity(string(self.pod.emptyDir.sizeLimit)) : has(self.pod) && has(self.pod.persistentVolumeClaimSpec) && has(self.pod.persistentVolumeClaimSpec.resources) && has(self.pod.persistentVolumeClaimSpec.resources.requests) && 'storage' in self.pod.persistentVolumeClaimSpec.resources.requests ? quantity(string(self.pod.persistentVolumeClaimSpec.resources.requests['storage'])) : quantity('8Gi')) <= 0",message="etcd.quotaBackendBytes is more than a member's volume holds (default 8Gi): lower it, or raise pod.persistentVolumeClaimSpec.resources.requests.storage"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.version) || !self.version.matches('^v?([0-2][.]|3[.][0-3][.])')",message="etcd before 3.4 does not have all options of spec.etcd: remove etcd, and set options by pod.etcdEnv; or write a newer version"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.quotaBackendBytes) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_QUOTA_BACKEND_BYTES')",message="etcd.quotaBackendBytes and ETCD_QUOTA_BACKEND_BYTES in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.autoCompaction) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_AUTO_COMPACTION_MODE' || e.name == 'ETCD_AUTO_COMPACTION_RETENTION')",message="etcd.autoCompaction and ETCD_AUTO_COMPACTION_MODE or ETCD_AUTO_COMPACTION_RETENTION in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.heartbeatInterval) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_HEARTBEAT_INTERVAL')",message="etcd.heartbeatInterval and ETCD_HEARTBEAT_INTERVAL in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.electionTimeout) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_ELECTION_TIMEOUT')",message="etcd.electionTimeout and ETCD_ELECTION_TIMEOUT in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.logLevel) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_LOG_LEVEL')",message="etcd.logLevel and ETCD_LOG_LEVEL in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.maxRequestBytes) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_MAX_REQUEST_BYTES')",message="etcd.maxRequestBytes and ETCD_MAX_REQUEST_BYTES in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.etcd.snapshotCount) || !has(self.pod) || !has(self.pod.etcdEnv) || !self.pod.etcdEnv.exists(e, e.name == 'ETCD_SNAPSHOT_COUNT')",message="etcd.snapshotCount and ETCD_SNAPSHOT_COUNT in pod.etcdEnv set the same option: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.networkPolicy) || has(self.networkPolicy.clientsFrom) || !has(self.service) || !has(self.service.type) || self.service.type == 'ClusterIP'",message="service.type NodePort or LoadBalancer is for clients outside of Kubernetes, which networkPolicy does not allow by default: write networkPolicy.clientsFrom, for example [{ipBlock: {cidr: 10.0.0.0/8}}]"
type EtcdClusterSpec struct {
	// Number of members, 1 to 7. Three members tolerate the loss of one, five members the loss of two. The operator
	// adds and removes one member at a time. kubectl scale sets this field, too.
	// +required
	// +kubebuilder:validation:XValidation:rule="self >= 1 && self <= 7",message="size must be 1 to 7: write 3 (tolerates the loss of one member) or 5 (tolerates the loss of two)"
	Size int `json:"size"`
	// Image of etcd without its tag. The tag is "v" followed by the version, unless image.tag is set. An empty value means
	// the default. If a node cannot pull the image, the status reports ImageUnavailable. The administrator
	// of the operators can choose another image in place of the default, for example that of a mirror. Default: quay.io/coreos/etcd.
	// +optional
	// +kubebuilder:default="quay.io/coreos/etcd"
	// +kubebuilder:validation:MaxLength=512
	Repository string `json:"repository,omitempty"`
	// Version of etcd: three numbers in quotes, for example "3.6.16". A leading "v" is ignored, and an empty value
	// means the default. What follows the numbers, such as "-0" of registry.k8s.io, is part of the image's tag and is not
	// compared, except alpha, beta and rc. The operator changes the version of one member at a time. It refuses to skip a minor version
	// and reports VersionNotSupported. Default: 3.6.16.
	// +optional
	// +kubebuilder:default="3.6.16"
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$')",message="version must be three numbers in quotes: write for example \"3.6.16\""
	Version string `json:"version,omitempty"`
	// Image that the members run, for registries with other tags, and to select an image by its digest. Default:
	// <repository>:v<version>.
	// +optional
	ImagePolicy *ImagePolicy `json:"image,omitempty"`
	// Labels and annotations of every object that the operator creates for the cluster: Pods, PersistentVolumeClaims, Secrets,
	// Services, the PodDisruptionBudget, the NetworkPolicy and Certificates of cert-manager. A change does not restart
	// members. Default: none.
	// +optional
	Metadata *MetadataPolicy `json:"metadata,omitempty"`
	// Options of etcd itself, such as its space quota. Default: those of etcd.
	// +optional
	Etcd *EtcdPolicy `json:"etcd,omitempty"`
	// Settings of the Service for clients. Default: a Service of type ClusterIP.
	// +optional
	Service *ServicePolicy `json:"service,omitempty"`
	// Limits who connects to the members, by a NetworkPolicy. Write {} for its defaults. It needs a network plugin that
	// enforces NetworkPolicies. The status does not show whether it does. If you remove the field, the operator deletes the
	// NetworkPolicy. Default: none, so each client that reaches the Pods can connect.
	// +optional
	NetworkPolicy *MemberNetworkPolicy `json:"networkPolicy,omitempty"`
	// Stops the operator from changing this cluster. Members keep serving, but the operator does not replace a lost
	// one. It still keeps and grows volumes as the spec asks, and renews certificates. Deleting the EtcdCluster still
	// works. Default: false.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// Stops all members and keeps their volumes, the cluster ID and the Services. Set it to false to start the same
	// members with the same data. It cannot be combined with pod.emptyDir. Default: false.
	// +optional
	Hibernate bool `json:"hibernate,omitempty"`
	// Refuses all writes of clients. Reads and watches are served through the client Service. Backups, scaling, upgrades and
	// repairs continue, and leases do not expire. A restored cluster obeys it, too. It needs etcd 3.6.0 or newer: see the
	// condition ReadOnly. Default: false.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// Decides whether the members' volumes are deleted with the EtcdCluster. The operator always deletes the volume of
	// a removed member, once its replacement is verified.
	// +optional
	VolumeRetention *VolumeRetentionPolicy `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	// Settings of the members' Pods and volumes. If a setting needs new Pods, the operator restarts one member at a
	// time.
	// +optional
	Pod *PodPolicy `json:"pod,omitempty"`
	// Encryption and authentication between members and towards clients. Write one of static, managed and certManager.
	// It cannot be turned on or off after the cluster has formed, and the source of the certificates cannot change.
	// Default: no TLS, all traffic is plain text.
	// +optional
	TLS *TLSPolicy `json:"TLS,omitempty"`
	// Users and roles in etcd, and the user of the operators. Default: the operators use no password, and change no user.
	// +optional
	Auth *AuthPolicy `json:"auth,omitempty"`
	// Decides when the operator replaces members, and what it does if quorum is lost.
	// +optional
	Recovery *RecoveryPolicy `json:"recovery,omitempty"`
	// Decides what the operator does if a member has used up its space quota and etcd refuses writes.
	// +optional
	NoSpace *NoSpacePolicy `json:"noSpace,omitempty"`
	// Decides when the operator defragments members, which returns free space in their database files to the volume.
	// It defragments one member at a time, the leader last, and only while all members are healthy and no other change
	// is in progress. A member does not answer while it is being defragmented. Default: only if a space quota is used
	// up.
	// +optional
	Defragmentation *DefragmentationPolicy `json:"defragmentation,omitempty"`
}

// DefaultRepository and DefaultVersion equal the schema's defaults. Objects stored before the schema need them here.
const (
	DefaultRepository = "quay.io/coreos/etcd"
	DefaultVersion    = "3.6.16"
)

// EtcdVersion returns the release of etcd that spec.version names, or the default. It has no leading "v", and no suffix of a
// registry, such as -0, because members report neither. Versions are compared with it. The suffix is part of the image.
func (s *EtcdClusterSpec) EtcdVersion() string {
	if s.Version == "" {
		return DefaultVersion
	}
	release, _ := etcdversion.Split(s.Version)
	return strings.TrimPrefix(release, "v")
}

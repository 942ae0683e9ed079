package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// PodPolicy holds the settings of every member's Pod and volume.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.emptyDir) && has(self.persistentVolumeClaimSpec))",message="emptyDir and persistentVolumeClaimSpec exclude each other: write emptyDir (data is lost with the Pod) or persistentVolumeClaimSpec (data is kept)"
type PodPolicy struct {
	// Labels to add to every Pod, at most 64. The keys app, etcd_* and etcd.database.coreos.com/* are reserved for the
	// operator. A change does not restart members. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && !key.startsWith('etcd_') && !key.startsWith('etcd.database.coreos.com/'))",message="the label keys app, etcd_* and etcd.database.coreos.com/* are reserved for the operator: choose other keys"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations to add to every Pod, at most 64. The keys etcd.version and etcd.database.coreos.com/* are reserved for
	// the operator. A change does not restart members, except of the key kubectl.kubernetes.io/restartedAt, which restarts them one at a time.
	// Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'etcd.version' && !key.startsWith('etcd.database.coreos.com/'))",message="the annotation keys etcd.version and etcd.database.coreos.com/* are reserved for the operator: choose other keys"
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels that a node must have to run a member. Default: none.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Affinity of every Pod, as in a Pod. It replaces antiAffinity and the default spread. Default: members prefer
	// different nodes.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Requires a node of its own for every member. A member without a free node remains Pending. It has no effect
	// together with affinity. Default: false.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`
	// Spread of the Pods over zones and nodes, as in a Pod. Default: without affinity, members prefer different zones
	// and different nodes (ScheduleAnyway).
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// Taints that every Pod tolerates, as in a Pod. Default: none.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// PriorityClass of every Pod. Choose one that is at least as high as that of the workloads that depend on etcd.
	// Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// ServiceAccount of every Pod, for example for a policy or an image registry. Its token is not mounted, because
	// etcd does not use the Kubernetes API. Default: the namespace's default ServiceAccount.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// RuntimeClass of every Pod. Default: that of the node.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// Scheduler of every Pod. Default: default-scheduler.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SchedulerName string `json:"schedulerName,omitempty"`
	// Whether the Pods use the users of the node. The value false gives each Pod users of its own (a user namespace), if
	// the node and the volumes support them. It needs Kubernetes 1.33. Default: true.
	// +optional
	HostUsers *bool `json:"hostUsers,omitempty"`
	// Seconds that a member has to stop before it is killed, 10 to 3600. A leader uses the time to hand over. Default: 30.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=3600
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// Containers to run beside etcd in every Pod, at most 8, as in a Pod. Such a container shares the Pod's network, and
	// its readiness counts for the client Service. The names etcd and restore are reserved. A change restarts members.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, !(c.name in ['etcd', 'restore']))",message="the container names etcd and restore are reserved for the operator: choose another name"
	Containers []corev1.Container `json:"containers,omitempty"`
	// Containers to run before etcd in every Pod, at most 8, as in a Pod. With restartPolicy: Always such a container runs
	// on beside etcd. The names etcd and restore are reserved. A change restarts members. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, !(c.name in ['etcd', 'restore']))",message="the container names etcd and restore are reserved for the operator: choose another name"
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Volumes for containers and initContainers, at most 16: a part of those of a Pod. The names etcd-data, member-peer-tls,
	// member-server-tls and store-credentials are reserved. A change restarts members. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, !(v.name in ['etcd-data', 'member-peer-tls', 'member-server-tls', 'store-credentials']))",message="the volume names etcd-data, member-peer-tls, member-server-tls and store-credentials are reserved for the operator: choose another name"
	Volumes []PodVolume `json:"volumes,omitempty"`
	// CPU and memory of the etcd container, as in a Pod. The operator changes them in running Pods, one at a time. If
	// Kubernetes or the node cannot do that, it restarts the member. Default: no requests and no limits.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Environment variables of the etcd container. Variables named ETCD_* set options of etcd. If the operator sets
	// the same option as a flag, it leaves the variable out. ETCD_WAL_DIR is refused: the log of a member is always on the
	// volume of its data. ETCD_FORCE_NEW_CLUSTER is refused: it makes each member a cluster of its own. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != 'ETCD_WAL_DIR')",message="ETCD_WAL_DIR cannot move the log of a member. A member that starts without its log can lose confirmed writes. Remove the variable from a new cluster. Restore a snapshot of an old one into a new EtcdCluster"
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.name != 'ETCD_FORCE_NEW_CLUSTER')",message="ETCD_FORCE_NEW_CLUSTER makes each member a cluster of its own, and confirmed writes are lost. Remove the variable. After a lost quorum, set recovery.quorumLoss to ForceNewCluster"
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`
	// Specification of every member's PersistentVolumeClaim. If resources.requests.storage is raised, the operator
	// grows the volumes of running members, provided that their StorageClass allows expansion. A volume cannot shrink.
	// This field cannot be combined with emptyDir. Default: 8Gi of the default StorageClass.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests && has(oldSelf.resources) && has(oldSelf.resources.requests) && 'storage' in oldSelf.resources.requests) || quantity(string(self.resources.requests['storage'])).compareTo(quantity(string(oldSelf.resources.requests['storage']))) >= 0",message="a volume cannot shrink: set resources.requests.storage to its previous value or higher"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeMode) || self.volumeMode == 'Filesystem'",message="etcd needs a file system: remove volumeMode, or set it to Filesystem"
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`
	// Stores each member's data in its Pod, so the data is lost with the Pod. Use it for tests and short-lived
	// clusters. A change that restarts members with a volume replaces members with emptyDir, one at a time. If you
	// remove this field, the operator moves the data to volumes in the same way. Default: members have volumes.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// Security context of every Pod. The default meets the restricted Pod Security Standard. Default: user 65532,
	// non-root, with seccomp profile RuntimeDefault.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// Secrets with the credentials of the image registry, as in a Pod. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// Kept for old manifests, ignored. It was the time limit of an init container that no longer exists.
	// +optional
	DNSTimeoutInSecond int64 `json:"DNSTimeoutInSecond,omitempty"`
	// Kept for old manifests, ignored. It was the image of an init container that no longer exists.
	// +optional
	BusyboxImage string `json:"busyboxImage,omitempty"`
	// Suffix of the members' DNS names, for example ".cluster.local". Without it the names end in .svc, and the Pod's
	// DNS search path completes them. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClusterDomain string `json:"ClusterDomain,omitempty"`
}

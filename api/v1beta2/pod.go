package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
)

// PodPolicy shapes the Pod of every member.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.emptyDir) && has(self.persistentVolumeClaimSpec))",message="write either emptyDir (data is lost with the Pod) or persistentVolumeClaimSpec (data is kept), not both"
type PodPolicy struct {
	// labels are added to every Pod. The keys app, etcd_* and etcd.database.coreos.com/* belong to the operator.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != 'app' && !key.startsWith('etcd_') && !key.startsWith('etcd.database.coreos.com/'))",message="the label keys app, etcd_* and etcd.database.coreos.com/* belong to the operator: choose other keys"
	Labels map[string]string `json:"labels,omitempty"`
	// annotations are added to every Pod. The key etcd.version belongs to the operator.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!('etcd.version' in self)",message="the annotation etcd.version belongs to the operator: choose another key"
	Annotations map[string]string `json:"annotations,omitempty"`
	// nodeSelector of every Pod.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// affinity of every Pod. Without it, and without antiAffinity, members prefer different hosts.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// antiAffinity true requires every member on a host of its own. Without effect when affinity is given.
	// +optional
	AntiAffinity bool `json:"antiAffinity,omitempty"`
	// topologySpreadConstraints of every Pod. Without them, and without affinity, members prefer different zones and
	// different hosts (ScheduleAnyway).
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// tolerations of every Pod.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// priorityClassName of every Pod: what depends on etcd should not preempt it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// serviceAccountName of every Pod, where a policy or an image registry goes by it. Its token is not mounted: etcd
	// has no use for the Kubernetes API.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// resources of the etcd container.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// etcdEnv is added to the environment of the etcd container; ETCD_* variables set etcd's options. What the
	// operator sets as a flag wins.
	// +optional
	// +listType=map
	// +listMapKey=name
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`
	// persistentVolumeClaimSpec of every member's volume. Without it, and without emptyDir, a member gets 8Gi
	// on the default StorageClass. The volumes of running members grow with resources.requests.storage where their
	// StorageClass allows it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests && has(oldSelf.resources) && has(oldSelf.resources.requests) && 'storage' in oldSelf.resources.requests) || quantity(string(self.resources.requests['storage'])).compareTo(quantity(string(oldSelf.resources.requests['storage']))) >= 0",message="a volume can grow and cannot shrink: set resources.requests.storage back to what it was or higher"
	PersistentVolumeClaimSpec *corev1.PersistentVolumeClaimSpec `json:"persistentVolumeClaimSpec,omitempty"`
	// emptyDir keeps a member's data only as long as its Pod: for tests and throw-away clusters. Where members with a
	// volume are restarted, for another version say, those without are replaced one by one by new ones. Taken out of
	// the spec it brings their data onto volumes the same way.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// securityContext of every Pod. Without it Pods run as user 65532, non-root, with the runtime's default
	// seccomp profile, so that they pass the restricted Pod Security Standard.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// imagePullSecrets of every Pod.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// DNSTimeoutInSecond was the limit of an init container that is no longer there. Accepted, without effect.
	// +optional
	DNSTimeoutInSecond int64 `json:"DNSTimeoutInSecond,omitempty"`
	// busyboxImage was the image of an init container that is no longer there. Accepted, without effect.
	// +optional
	BusyboxImage string `json:"busyboxImage,omitempty"`
	// ClusterDomain is appended to the members' DNS names, for example ".cluster.local". Without it names end
	// in .svc and the Pod's search path completes them.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClusterDomain string `json:"ClusterDomain,omitempty"`
}

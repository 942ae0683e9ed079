package v1beta2

import corev1 "k8s.io/api/core/v1"

// PodPolicy holds the settings of every member's Pod and volume.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.emptyDir) && has(self.persistentVolumeClaimSpec))",message="emptyDir and persistentVolumeClaimSpec exclude each other: write emptyDir (data is lost with the Pod) or persistentVolumeClaimSpec (data is kept)"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeMounts) || self.volumeMounts.all(m, has(self.volumes) && self.volumes.exists(v, v.name == m.name))",message="volumeMounts may only name volumes of pod.volumes: add the volume there"
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
	// its readiness counts for the client Service. The names etcd and restore are reserved, and hostPort is refused. A
	// change restarts members. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, !(c.name in ['etcd', 'restore']))",message="the container names etcd and restore are reserved for the operator: choose another name"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))",message="a container may not take a port of its node: remove hostPort. To reach it from outside, create a Service that selects the label etcd_cluster"
	Containers []corev1.Container `json:"containers,omitempty"`
	// Containers to run before etcd in every Pod, at most 8, as in a Pod. With restartPolicy: Always such a container runs
	// on beside etcd. The names etcd and restore are reserved, and hostPort is refused. A change restarts members.
	// Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(c, !(c.name in ['etcd', 'restore']))",message="the container names etcd and restore are reserved for the operator: choose another name"
	// +kubebuilder:validation:XValidation:rule="self.all(c, !has(c.ports) || c.ports.all(p, !has(p.hostPort) || p.hostPort == 0))",message="a container may not take a port of its node: remove hostPort. To reach it from outside, create a Service that selects the label etcd_cluster"
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Volumes for containers, initContainers and volumeMounts, at most 16: a part of those of a Pod. The names etcd-data, member-peer-tls,
	// member-server-tls and store-credentials are reserved. A change restarts members. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, !(v.name in ['etcd-data', 'member-peer-tls', 'member-server-tls', 'store-credentials']))",message="the volume names etcd-data, member-peer-tls, member-server-tls and store-credentials are reserved for the operator: choose another name"
	Volumes []PodVolume `json:"volumes,omitempty"`
	// Mounts of pod.volumes in the etcd container, at most 8, as in a Pod, for example of the key of JWT tokens of etcd's
	// authentication. Each Pod of a member has them, also in a restore and in a recovery. A path at, in or above
	// /var/etcd (the data) and /etc/etcdtls (the certificates) is refused. A change restarts members. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(m, m.mountPath.startsWith('/') && !m.mountPath.matches('//|/[.]|/$|:'))",message="mountPath must be an absolute path without '//', '/.' and ':', and without a slash at its end: write for example /etc/jwt"
	// +kubebuilder:validation:XValidation:rule="self.all(m, !(m.mountPath in ['/var', '/var/etcd', '/etc', '/etc/etcdtls']) && !m.mountPath.startsWith('/var/etcd/') && !m.mountPath.startsWith('/etc/etcdtls/'))",message="/var/etcd has the data of etcd, and /etc/etcdtls the certificates, so nothing else may be mounted there or above: choose another mountPath, for example /etc/jwt"
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// CPU and memory of the etcd container, as in a Pod. The operator changes them in running Pods, one at a time. If
	// Kubernetes or the node cannot do that, it restarts the member. Default: no requests and no limits.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Environment variables of the etcd container. Variables named ETCD_* set options of etcd. Those of options that belong
	// to the operator are refused, such as ETCD_NAME, ETCD_DATA_DIR and ETCD_WAL_DIR. If the operator sets the same option
	// as a flag, it leaves the variable out. If the version of etcd has another name for an option, the operator uses that
	// name. Default: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_ADVERTISE_CLIENT_URLS', 'ETCD_DATA_DIR', 'ETCD_INITIAL_ADVERTISE_PEER_URLS', 'ETCD_LISTEN_CLIENT_URLS', 'ETCD_LISTEN_METRICS_URLS', 'ETCD_LISTEN_PEER_URLS', 'ETCD_NAME'])",message="ETCD_ADVERTISE_CLIENT_URLS, ETCD_DATA_DIR, ETCD_INITIAL_ADVERTISE_PEER_URLS, ETCD_LISTEN_CLIENT_URLS, ETCD_LISTEN_METRICS_URLS, ETCD_LISTEN_PEER_URLS and ETCD_NAME cannot be set. The operator gives each member its name, its directory and its addresses. Remove the variable. For another way of clients to the cluster, set spec.service and spec.TLS"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_AUTO_TLS', 'ETCD_CERT_FILE', 'ETCD_CLIENT_CERT_AUTH', 'ETCD_KEY_FILE', 'ETCD_PEER_AUTO_TLS', 'ETCD_PEER_CERT_FILE', 'ETCD_PEER_CLIENT_CERT_AUTH', 'ETCD_PEER_KEY_FILE', 'ETCD_PEER_TRUSTED_CA_FILE', 'ETCD_SELF_SIGNED_CERT_VALIDITY', 'ETCD_TRUSTED_CA_FILE'])",message="ETCD_AUTO_TLS, ETCD_CERT_FILE, ETCD_CLIENT_CERT_AUTH, ETCD_KEY_FILE, ETCD_PEER_AUTO_TLS, ETCD_PEER_CERT_FILE, ETCD_PEER_CLIENT_CERT_AUTH, ETCD_PEER_KEY_FILE, ETCD_PEER_TRUSTED_CA_FILE, ETCD_SELF_SIGNED_CERT_VALIDITY and ETCD_TRUSTED_CA_FILE cannot be set. The operator hands the certificates and the CA to etcd. Remove the variable. Set spec.TLS"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_CONFIG_FILE'])",message="ETCD_CONFIG_FILE cannot be set. With a configuration file, etcd ignores all flags of the operator, and a member can start without its data or without TLS. Remove the variable. Set spec.etcd, or one variable for each option"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_DISCOVERY', 'ETCD_DISCOVERY_CACERT', 'ETCD_DISCOVERY_CERT', 'ETCD_DISCOVERY_DIAL_TIMEOUT', 'ETCD_DISCOVERY_ENDPOINTS', 'ETCD_DISCOVERY_FALLBACK', 'ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY', 'ETCD_DISCOVERY_INSECURE_TRANSPORT', 'ETCD_DISCOVERY_KEEPALIVE_TIME', 'ETCD_DISCOVERY_KEEPALIVE_TIMEOUT', 'ETCD_DISCOVERY_KEY', 'ETCD_DISCOVERY_PASSWORD', 'ETCD_DISCOVERY_PROXY', 'ETCD_DISCOVERY_REQUEST_TIMEOUT', 'ETCD_DISCOVERY_SRV', 'ETCD_DISCOVERY_SRV_NAME', 'ETCD_DISCOVERY_TOKEN', 'ETCD_DISCOVERY_USER'])",message="ETCD_DISCOVERY, ETCD_DISCOVERY_CACERT, ETCD_DISCOVERY_CERT, ETCD_DISCOVERY_DIAL_TIMEOUT, ETCD_DISCOVERY_ENDPOINTS, ETCD_DISCOVERY_FALLBACK, ETCD_DISCOVERY_INSECURE_SKIP_TLS_VERIFY, ETCD_DISCOVERY_INSECURE_TRANSPORT, ETCD_DISCOVERY_KEEPALIVE_TIME, ETCD_DISCOVERY_KEEPALIVE_TIMEOUT, ETCD_DISCOVERY_KEY, ETCD_DISCOVERY_PASSWORD, ETCD_DISCOVERY_PROXY, ETCD_DISCOVERY_REQUEST_TIMEOUT, ETCD_DISCOVERY_SRV, ETCD_DISCOVERY_SRV_NAME, ETCD_DISCOVERY_TOKEN and ETCD_DISCOVERY_USER cannot be set. The operator names the first members to etcd, and etcd does not start with a second way to find them. Remove the variable. Set spec.size"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_FORCE_NEW_CLUSTER'])",message="ETCD_FORCE_NEW_CLUSTER cannot be set. It makes each member a cluster of its own, and confirmed writes are lost. Remove the variable. After a lost quorum, set spec.recovery.quorumLoss to ForceNewCluster"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_INITIAL_CLUSTER', 'ETCD_INITIAL_CLUSTER_STATE', 'ETCD_INITIAL_CLUSTER_TOKEN'])",message="ETCD_INITIAL_CLUSTER, ETCD_INITIAL_CLUSTER_STATE and ETCD_INITIAL_CLUSTER_TOKEN cannot be set. The operator decides with which others a member forms a cluster, so that no member starts without its data. Remove the variable. Set spec.size, or restore a snapshot with an EtcdRestore"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_PROXY', 'ETCD_PROXY_DIAL_TIMEOUT', 'ETCD_PROXY_FAILURE_WAIT', 'ETCD_PROXY_READ_TIMEOUT', 'ETCD_PROXY_REFRESH_INTERVAL', 'ETCD_PROXY_WRITE_TIMEOUT'])",message="ETCD_PROXY, ETCD_PROXY_DIAL_TIMEOUT, ETCD_PROXY_FAILURE_WAIT, ETCD_PROXY_READ_TIMEOUT, ETCD_PROXY_REFRESH_INTERVAL and ETCD_PROXY_WRITE_TIMEOUT cannot be set. A proxy of etcd is no member, and holds no data. Remove the variable. Clients use the Service <name>-client"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_STRICT_RECONFIG_CHECK'])",message="ETCD_STRICT_RECONFIG_CHECK cannot be set. Without this check, a change of the members can end the quorum of a cluster. Remove the variable. To add or remove members, set spec.size"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_UNSAFE_NO_FSYNC'])",message="ETCD_UNSAFE_NO_FSYNC cannot be set. etcd would confirm writes that are not on the disk, and a node that fails would lose them. Remove the variable. Use a StorageClass with a lower latency, or spec.pod.emptyDir for a test"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['ETCD_WAL_DIR'])",message="ETCD_WAL_DIR cannot be set. A member that starts without its log can lose confirmed writes. Remove the variable from a new cluster. Restore a snapshot of an old one into a new EtcdCluster"
	// +kubebuilder:validation:items:XValidation:rule="!(self.name in ['MEMBER_ADDED', 'MEMBER_DATA_REQUIRED', 'MEMBER_INITIAL_CLUSTER'])",message="MEMBER_ADDED, MEMBER_DATA_REQUIRED and MEMBER_INITIAL_CLUSTER cannot be set. With these variables, the operator decides when a member starts and whether it may start without its data. Remove the variable"
	EtcdEnv []corev1.EnvVar `json:"etcdEnv,omitempty"`
	// Specification of every member's PersistentVolumeClaim. If resources.requests.storage is raised, the operator
	// grows the volumes of running members, provided that their StorageClass allows expansion. A volume cannot shrink.
	// dataSource and dataSourceRef are refused: a copy of a member's volume has its identity. This field cannot be combined
	// with emptyDir. Default: 8Gi of the default StorageClass.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!(has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests && has(oldSelf.resources) && has(oldSelf.resources.requests) && 'storage' in oldSelf.resources.requests) || quantity(string(self.resources.requests['storage'])).compareTo(quantity(string(oldSelf.resources.requests['storage']))) >= 0",message="a volume cannot shrink: set resources.requests.storage to its previous value or higher"
	// +kubebuilder:validation:XValidation:rule="!has(self.volumeMode) || self.volumeMode == 'Filesystem'",message="etcd needs a file system: remove volumeMode, or set it to Filesystem"
	// +kubebuilder:validation:XValidation:rule="!has(self.dataSource) && !has(self.dataSourceRef)",message="a volume that is made from dataSource or dataSourceRef has the identity of another member: remove the field. To start from saved data, restore a snapshot with an EtcdRestore"
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
	// Secrets with the credentials of the image registry, as in a Pod. Default: those that the administrator of the operators chose for
	// all EtcdClusters, or none.
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

// RetentionPolicy decides what happens to a volume, with the values that a StatefulSet has.
//
// +kubebuilder:validation:Enum=Delete;Retain
type RetentionPolicy string

// Retain keeps the volumes, Delete removes them.
const (
	RetainVolumes RetentionPolicy = "Retain"
	DeleteVolumes RetentionPolicy = "Delete"
)

// VolumeRetentionPolicy decides what happens to the members' PersistentVolumeClaims.
type VolumeRetentionPolicy struct {
	// What happens to the volumes when the EtcdCluster is deleted. Delete removes them. Retain keeps them, and a later
	// EtcdCluster of the same name does not use them. Default: Delete.
	// +optional
	// +kubebuilder:default=Delete
	WhenDeleted RetentionPolicy `json:"whenDeleted,omitempty"`
}

// PodVolume is a volume for containers beside etcd. It has the fields of a Pod's volume that such containers need. A
// schema with all of them would be too large for kubectl apply.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.csi), has(self.persistentVolumeClaim)].filter(set, set).size() == 1",message="a volume needs one source: write one of configMap, secret, emptyDir, csi and persistentVolumeClaim"
type PodVolume struct {
	// Name of the volume, which a container mounts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// ConfigMap to mount, as in a Pod.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`
	// Secret to mount, as in a Pod.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`
	// Empty directory that is deleted with the Pod, as in a Pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// Volume of a CSI driver, as in a Pod, for example one that mounts secrets.
	// +optional
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`
	// PersistentVolumeClaim that all members share, as in a Pod.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
}

// Volume returns the volume of a Pod.
func (v PodVolume) Volume() corev1.Volume {
	return corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
		ConfigMap: v.ConfigMap, Secret: v.Secret, EmptyDir: v.EmptyDir, CSI: v.CSI, PersistentVolumeClaim: v.PersistentVolumeClaim,
	}}
}

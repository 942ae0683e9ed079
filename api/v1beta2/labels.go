package v1beta2

import "k8s.io/apimachinery/pkg/runtime/schema"

// Label and annotation keys. The first four come from coreos/etcd-operator and are kept for the selectors of users.
const (
	// LabelApp is "etcd" on every Pod, PersistentVolumeClaim and Service of a cluster.
	LabelApp = "app"
	// LabelCluster holds the name of the EtcdCluster.
	LabelCluster = "etcd_cluster"
	// LabelMember holds the name of the member (Pods and PersistentVolumeClaims).
	LabelMember = "etcd_node"
	// AnnotationVersion holds the etcd version that a member's Pod was created for.
	AnnotationVersion = "etcd.version"

	// LabelIncarnation holds the incarnation of the cluster that a member belongs to: "1" after the bootstrap, one more
	// after each restore. The client Service selects one incarnation.
	LabelIncarnation = Group + "/incarnation"
	// LabelClusterUID holds the UID of the EtcdCluster on Pods and PersistentVolumeClaims. Services select by it, so that
	// they never select Pods that an earlier EtcdCluster of the same name left.
	LabelClusterUID = Group + "/cluster-uid"
	// AnnotationClusterID holds the etcd cluster ID (16 hex digits) on the client Service. It identifies a formed cluster
	// even if the EtcdCluster's status is lost.
	AnnotationClusterID = Group + "/cluster-id"
	// AnnotationRestoreUID holds, on the client Service, the UID of the EtcdRestore that created the incarnation. It keeps
	// the operator from running the same EtcdRestore again if the EtcdCluster's status is lost.
	AnnotationRestoreUID = Group + "/restore-uid"
	// AnnotationServesUnready is on the client Service while it selects members whose Pods are not ready. Under spec.readOnly, the
	// readiness probes of Pods of an earlier operator fail.
	AnnotationServesUnready = Group + "/serves-unready"
	// AnnotationClusterUID holds the UID of the EtcdCluster on a PersistentVolumeClaim. It distinguishes a kept volume of a
	// deleted EtcdCluster from the volumes of a later one with the same name.
	AnnotationClusterUID = Group + "/cluster-uid"
	// LabelShard holds, on an EtcdCluster, the shard of the cluster-operator that manages it. An operator without the flag
	// --shard manages the EtcdClusters without the label.
	LabelShard = Group + "/shard"
	// LabelReplacedOf holds the name of the EtcdCluster on a PersistentVolumeClaim with data that a restore or a recovery
	// replaced. Such a volume has no LabelCluster, because no member uses it.
	LabelReplacedOf = Group + "/replaced-of"
	// AnnotationReplacedAt holds the time, in RFC 3339, at which such a volume was replaced.
	AnnotationReplacedAt = Group + "/replaced-at"
	// AnnotationRecoveredFrom holds, on a PersistentVolumeClaim of a member, the name of the member that a recovery from a lost quorum
	// continued from. The operator keeps such a volume for some time when it removes the member, even if the EtcdCluster's status is lost.
	AnnotationRecoveredFrom = Group + "/recovered-from"
	// AnnotationRecoveryStartedAt holds, on such a PersistentVolumeClaim, the time at which that recovery started, in RFC 3339.
	AnnotationRecoveryStartedAt = Group + "/recovery-started-at"
	// AnnotationRemoveForeign holds, on an EtcdCluster, IDs or names of foreign members with commas between. The operator
	// did not add them, and may remove them. If they are too few for a quorum, a recovery from a lost quorum may continue
	// without them.
	AnnotationRemoveForeign = Group + "/remove-foreign-members"
	// AnnotationStoppedForeign holds, on an EtcdCluster, IDs of foreign members with commas between. It says that these
	// members have stopped, and will not start again. A recovery and a restore then continue without them.
	AnnotationStoppedForeign = Group + "/stopped-foreign-members"
	// AnnotationReplace holds, on an EtcdCluster, the names of members with commas between. For each the operator adds a
	// member, and then removes the named one.
	AnnotationReplace = Group + "/replace-members"
	// AnnotationMoveLeader holds, on an EtcdCluster, the names of members that should not lead, with commas between.
	AnnotationMoveLeader = Group + "/move-leader-from"
	// AnnotationFence holds, on an EtcdCluster, the names of members with commas between. The client Service does not select
	// them, and the operator does not replace them.
	AnnotationFence = Group + "/fence-members"
	// AnnotationAcceptVolumes holds, on an EtcdCluster, UIDs of PersistentVolumeClaims with commas between. If no quorum
	// serves, members start on these claims, although they served on other ones before. Writes that etcd acknowledged may be
	// lost. If a recovery from a lost quorum continued without the data of a claim, "@" and the time follow at which it started.
	AnnotationAcceptVolumes = Group + "/accept-volumes"
	// AnnotationScope is kept for old manifests and ignored. It selected the cluster-wide operator of
	// coreos/etcd-operator; the flag --watch-namespaces now selects the namespaces of an operator.
	AnnotationScope = Group + "/scope"

	// AppName is the value of LabelApp.
	AppName = "etcd"
)

// Ports of every member.
const (
	ClientPort int32 = 2379
	PeerPort   int32 = 2380
	// MetricsPort serves /metrics, /health, /livez and /readyz over plain HTTP, so probes need no client certificate.
	MetricsPort int32 = 2381
)

// Group is the API group of all three kinds.
const Group = "etcd.database.coreos.com"

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1beta2"}

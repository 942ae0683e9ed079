package v1beta2

// Label and annotation keys. The first four are those of coreos/etcd-operator and are kept for selectors that
// users wrote against them.
const (
	// LabelApp is "etcd" on every Pod, PersistentVolumeClaim and Service of a cluster.
	LabelApp = "app"
	// LabelCluster holds the name of the EtcdCluster.
	LabelCluster = "etcd_cluster"
	// LabelMember holds the name of the member (Pods and PersistentVolumeClaims).
	LabelMember = "etcd_node"
	// AnnotationVersion holds the etcd version that a member's Pod was made for.
	AnnotationVersion = "etcd.version"

	// LabelIncarnation holds the incarnation of the cluster that a member belongs to: "1" for the life it was
	// born with, one more for each restore. The client Service selects one incarnation.
	LabelIncarnation = Group + "/incarnation"
	// AnnotationClusterID holds the etcd cluster ID (16 hex digits) on the client Service. With it a formed
	// cluster is recognised even when the EtcdCluster's status was lost.
	AnnotationClusterID = Group + "/cluster-id"
	// AnnotationRestoreUID holds the UID of the EtcdRestore that made the incarnation, on the client Service: with
	// it the same EtcdRestore is not run again when the EtcdCluster's status was lost.
	AnnotationRestoreUID = Group + "/restore-uid"
	// AnnotationClusterUID holds the UID of the EtcdCluster on a PersistentVolumeClaim, by which a volume that outlives
	// its EtcdCluster is known to be of it, and of no later one of the same name.
	AnnotationClusterUID = Group + "/cluster-uid"
	// AnnotationScope was the opt-in to a cluster-wide operator of coreos/etcd-operator. It is accepted and has
	// no effect: which namespaces an operator serves is said by its --watch-namespaces flag.
	AnnotationScope = Group + "/scope"

	// AppName is the value of LabelApp.
	AppName = "etcd"
)

// Ports of every member.
const (
	ClientPort int32 = 2379
	PeerPort   int32 = 2380
	// MetricsPort serves /metrics, /health, /livez and /readyz in plain HTTP, so that probes need no client certificate.
	MetricsPort int32 = 2381
)

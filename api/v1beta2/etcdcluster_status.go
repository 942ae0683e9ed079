package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClusterPhase is the coarse state that coreos/etcd-operator reported. Conditions say more.
type ClusterPhase string

// The phases of coreos/etcd-operator. Failed is no longer terminal: the operator goes on when the cause is gone.
const (
	ClusterPhaseNone     ClusterPhase = ""
	ClusterPhaseCreating ClusterPhase = "Creating"
	ClusterPhaseRunning  ClusterPhase = "Running"
	ClusterPhaseFailed   ClusterPhase = "Failed"
)

// EtcdClusterStatus is the observed state of a cluster.
type EtcdClusterStatus struct {
	// observedGeneration is the generation that this status is about; -1 before the first look.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready (as asked for), Available (clients are served), Progressing, Degraded, Stalled (a person must act).
	//
	// Those of coreos/etcd-operator had a lastUpdateTime. It has no effect, but kubectl refuses to apply what it
	// read from such a cluster where the schema does not let it pass.
	//
	// +optional
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase as coreos/etcd-operator reported it: Creating, Running or Failed.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// reason is the message of the condition that keeps the cluster from being ready.
	// +optional
	Reason string `json:"reason,omitempty"`
	// controlPaused mirrors spec.paused.
	// +optional
	ControlPaused bool `json:"controlPaused,omitempty"`
	// size is the number of ready members.
	// +optional
	Size int `json:"size"`
	// serviceName is the Service for clients.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// clientPort of that Service.
	// +optional
	ClientPort int `json:"clientPort,omitempty"`
	// members by readiness.
	// +optional
	Members MembersStatus `json:"members,omitempty"`
	// currentVersion is the lowest version that a member of the cluster said it runs.
	// +optional
	CurrentVersion string `json:"currentVersion,omitempty"`
	// targetVersion is spec.version while members are being brought to it.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// versionChange says what the members' data is prepared for, while they are being brought to another minor version.
	// +optional
	VersionChange *VersionChangeStatus `json:"versionChange,omitempty"`

	// clusterID of etcd, 16 hex digits. Set once the cluster has formed; a formed cluster is never bootstrapped again.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// incarnation counts the lives of the cluster: 1 when bootstrapped, one more with each restore.
	// +optional
	Incarnation int32 `json:"incarnation,omitempty"`
	// selector of the members' Pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// clientTLSSecret names the Secret (etcd-client.crt, etcd-client.key, etcd-client-ca.crt) that clients need; empty without TLS.
	// +optional
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`
	// memberStatuses holds what each member said of itself.
	// +optional
	// +listType=map
	// +listMapKey=name
	MemberStatuses []MemberStatus `json:"memberStatuses,omitempty"`
	// restore is how far the cluster is with the EtcdRestore that it took up last.
	// +optional
	Restore *ClusterRestoreStatus `json:"restore,omitempty"`
	// recovery is how far the cluster is with its recovery from the quorum that it lost last.
	// +optional
	Recovery *ClusterRecoveryStatus `json:"recovery,omitempty"`
	// space is what the operator did because members have used up their space quota, while that alarm is on.
	// +optional
	Space *SpaceStatus `json:"space,omitempty"`
	// defragmentation is how far the schedule in spec.defragmentation is.
	// +optional
	Defragmentation *DefragmentationStatus `json:"defragmentation,omitempty"`
}

// MembersStatus lists the names of the members' Pods, as coreos/etcd-operator did.
type MembersStatus struct {
	// ready members serve clients.
	// +optional
	// +listType=atomic
	Ready []string `json:"ready,omitempty"`
	// unready members do not.
	// +optional
	// +listType=atomic
	Unready []string `json:"unready,omitempty"`
}

// MemberRole is a member's part in raft.
// +kubebuilder:validation:Enum=Leader;Voter;Learner
type MemberRole string

// The roles of a member. A leader is a voter, too.
const (
	MemberLeader  MemberRole = "Leader"
	MemberVoter   MemberRole = "Voter"
	MemberLearner MemberRole = "Learner"
)

// MemberStatus is what one member said of itself, or what is known of it while it does not answer.
type MemberStatus struct {
	// name of the member, its Pod and its PersistentVolumeClaim.
	Name string `json:"name"`
	// id of the member in etcd, 16 hex digits.
	// +optional
	ID string `json:"id,omitempty"`
	// role in raft; empty while unknown.
	// +optional
	Role MemberRole `json:"role,omitempty"`
	// version of etcd that the member runs.
	// +optional
	Version string `json:"version,omitempty"`
	// clientURL is where the member serves clients.
	// +optional
	ClientURL string `json:"clientURL,omitempty"`
	// dbSize is the size of the member's database file in bytes.
	// +optional
	DBSize int64 `json:"dbSize,omitempty"`
	// volumeSize is the size of the member's volume in bytes, 0 with emptyDir.
	// +optional
	VolumeSize int64 `json:"volumeSize,omitempty"`
	// ready says whether the member serves clients.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// defragmentedAt is when the operator defragmented the member last.
	// +optional
	DefragmentedAt *metav1.Time `json:"defragmentedAt,omitempty"`
}

// RestoreStep is how far a cluster is with a restore.
// +kubebuilder:validation:Enum=Seeding;Switching;Growing;Complete;Failed
type RestoreStep string

// The steps of a restore, in order. Until Seeding ends the old members serve; from Switching on there is no way back.
const (
	// RestoreSeeding: a seed of the next incarnation is restored and proven beside the old members.
	RestoreSeeding RestoreStep = "Seeding"
	// RestoreSwitching: the old members stop, then the client Service turns to the seed.
	RestoreSwitching RestoreStep = "Switching"
	// RestoreGrowing: the seed serves and grows to spec.size; the old volumes are still there.
	RestoreGrowing RestoreStep = "Growing"
	// RestoreComplete: at size, and the old volumes are gone.
	RestoreComplete RestoreStep = "Complete"
	// RestoreFailed: the seed failed and was removed; the old cluster was not touched.
	RestoreFailed RestoreStep = "Failed"
)

// ClusterRestoreStatus is how far a cluster is with one EtcdRestore.
type ClusterRestoreStatus struct {
	// name of the EtcdRestore.
	Name string `json:"name"`
	// uid of the EtcdRestore: a second one of the same name is another restore.
	UID types.UID `json:"uid"`
	// step that was reached.
	Step RestoreStep `json:"step"`
	// message says what is being waited for, or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
	// percent of the snapshot's bytes that the seed has read and restored, or of the members that serve while Growing.
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// incarnation that the restore makes.
	Incarnation int32 `json:"incarnation"`
	// clusterIDBefore is the cluster that the restore replaces; empty when there was none.
	// +optional
	ClusterIDBefore string `json:"clusterIDBefore,omitempty"`
	// clusterID of the restored cluster, once its seed answered.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// revision of the restored cluster when its seed was proven.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RecoveryPolicy decides when the operator replaces members, and what it does if quorum is lost.
type RecoveryPolicy struct {
	// How long a member may fail to serve before the operator replaces it, 30s to 999999h. The operator waits only while
	// the other members have a quorum. It replaces a member whose data is lost or corrupt without waiting. Raise the
	// value if your nodes need longer to restart. Default: 5m.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^([0-9]+(h|m|s))+$`
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16 && self.matches('^([0-9]{1,6}h|[0-9]{1,8}m|[0-9]{1,9}s)+$') && duration(self) >= duration('30s')",message="memberReplacementGrace must be 30s to 999999h, because a restarting member needs 30 s: write for example \"5m\""
	MemberReplacementGrace *metav1.Duration `json:"memberReplacementGrace,omitempty"`
	// What to do if so many voters have lost their data that the others can never form a quorum again. Wait changes
	// nothing until you act. ForceNewCluster restarts the most advanced survivor once with --force-new-cluster, and
	// grows the cluster from it. Writes that only the lost members had are then lost. ForceNewCluster requires
	// volumes. Default: Wait.
	// +optional
	// +kubebuilder:default=Wait
	QuorumLoss QuorumLossPolicy `json:"quorumLoss,omitempty"`
	// How long a member that the operator did not add may be in the etcd cluster before the operator removes it. The
	// operator removes it only if the other members keep quorum. Without a value the operator never removes such a
	// member by itself: somebody may be migrating data. The annotation
	// etcd.database.coreos.com/remove-foreign-members removes one at once. Default: none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$`
	ForeignMemberGrace *metav1.Duration `json:"foreignMemberGrace,omitempty"`
	// How long the operator keeps the volumes with the earlier data after a restore or a recovery from a lost quorum.
	// status.replacedVolumes lists them. The value 0s deletes them as soon as the cluster has its size. Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$`
	KeepReplacedVolumes *metav1.Duration `json:"keepReplacedVolumes,omitempty"`
}

// DefaultKeepReplacedVolumes is how long replaced volumes are kept if the spec has no other value.
const DefaultKeepReplacedVolumes = 24 * time.Hour

// ReplacedVolume is a volume with data that a restore or a recovery replaced.
type ReplacedVolume struct {
	// Name of the PersistentVolumeClaim.
	Name string `json:"name"`
	// Time after which the operator deletes it, if the cluster is healthy then.
	KeptUntil metav1.Time `json:"keptUntil"`
}

// QuorumLossPolicy decides what to do if quorum is lost for good.
//
// +kubebuilder:validation:Enum=Wait;ForceNewCluster
type QuorumLossPolicy string

// The reactions to a lost quorum.
const (
	// QuorumLossWait changes nothing until the user acts.
	QuorumLossWait QuorumLossPolicy = "Wait"
	// QuorumLossForceNewCluster rebuilds the cluster from its most advanced survivor.
	QuorumLossForceNewCluster QuorumLossPolicy = "ForceNewCluster"
)

// DefaultMemberReplacementGrace equals the schema's default, for clusters without a recovery policy.
const DefaultMemberReplacementGrace = 5 * time.Minute

// RecoveryStep is the step that a recovery from a lost quorum has reached.
//
// +kubebuilder:validation:Enum=Forcing;Growing;Complete
type RecoveryStep string

// The steps of a recovery, in order.
const (
	// RecoveryForcing means that all other members stop, and the survivor is restarted once with --force-new-cluster.
	RecoveryForcing RecoveryStep = "Forcing"
	// RecoveryGrowing means that the survivor has served as a cluster of one, and members are added up to spec.size.
	RecoveryGrowing RecoveryStep = "Growing"
	// RecoveryComplete means that the cluster has spec.size members, and no member uses the volumes of the lost ones.
	RecoveryComplete RecoveryStep = "Complete"
)

// ClusterRecoveryStatus is the progress of a recovery from a lost quorum.
type ClusterRecoveryStatus struct {
	// Step that the recovery has reached: Forcing, Growing or Complete.
	Step RecoveryStep `json:"step"`
	// What the operator is doing.
	// +optional
	Message string `json:"message,omitempty"`
	// Name of the survivor from which the cluster continues: the one with the highest raftIndex.
	Member string `json:"member"`
	// Index of the last raft entry that the survivor knew to be committed when it was chosen.
	// +optional
	RaftIndex int64 `json:"raftIndex,omitempty"`
	// Raft term of the survivor when it was chosen.
	// +optional
	RaftTerm int64 `json:"raftTerm,omitempty"`
	// Revision that the survivor served as a cluster of one.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Names of all voters before the recovery, including the survivor.
	// +optional
	// +listType=atomic
	Voters []string `json:"voters,omitempty"`
	// Time at which the survivor was chosen.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// Time from which the survivor may have run with --force-new-cluster. The operator sets it before the first such start.
	// +optional
	ForcedAt *metav1.Time `json:"forcedAt,omitempty"`
	// Recovery before this one, if it had changed the cluster. It is the last recovery again if this one is cancelled.
	// +optional
	Earlier *EarlierRecovery `json:"earlier,omitempty"`
}

// EarlierRecovery is a recovery from a lost quorum that another one followed.
type EarlierRecovery struct {
	// Step that it had reached: Growing or Complete.
	Step RecoveryStep `json:"step"`
	// Name of its survivor.
	Member string `json:"member"`
	// Revision that the survivor served as a cluster of one.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Names of all voters before it, including the survivor.
	// +optional
	// +listType=atomic
	Voters []string `json:"voters,omitempty"`
	// Time at which the survivor was chosen.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

// PastRecovery identifies a recovery from a lost quorum.
type PastRecovery struct {
	// Name of the survivor from which the cluster continued.
	Member string `json:"member"`
	// Time at which the survivor was chosen.
	StartedAt metav1.Time `json:"startedAt"`
}

// MaxCancelledSurvivors is how many survivors of cancelled recoveries an EtcdCluster remembers.
const MaxCancelledSurvivors = 8

// CancelledSurvivor is a member from which a recovery continued that was cancelled.
type CancelledSurvivor struct {
	// Name of the member.
	Member string `json:"member"`
	// Name of its PersistentVolume. It is empty if that is not known.
	// +optional
	VolumeName string `json:"volumeName,omitempty"`
	// Time at which it was chosen.
	StartedAt metav1.Time `json:"startedAt"`
}

package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RecoveryPolicy says what the operator does by itself about members that do not come back.
type RecoveryPolicy struct {
	// memberReplacementGrace is how long a member may not serve before a new one takes its place, while a quorum of
	// the others serves: its host is gone, say. At least 30s. A member whose data is known to be gone or corrupt is
	// replaced without waiting.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(h|m|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30s')",message="memberReplacementGrace is at least 30s, which a member that is only restarted needs; for example \"5m\""
	MemberReplacementGrace *metav1.Duration `json:"memberReplacementGrace,omitempty"`
	// quorumLoss says what to do when so many voters have lost their data that the rest can never agree again.
	// Wait changes nothing until somebody decides. ForceNewCluster is the consent to go on from one survivor: the
	// one that knows most is restarted once with --force-new-cluster, and the cluster grows to size from it. Writes
	// that only the lost members had are lost.
	// +optional
	// +kubebuilder:default=Wait
	QuorumLoss QuorumLossPolicy `json:"quorumLoss,omitempty"`
}

// QuorumLossPolicy says what to do when quorum is lost for good.
// +kubebuilder:validation:Enum=Wait;ForceNewCluster
type QuorumLossPolicy string

// The ways to go on from a lost quorum.
const (
	// QuorumLossWait changes nothing.
	QuorumLossWait QuorumLossPolicy = "Wait"
	// QuorumLossForceNewCluster goes on from the survivor that knows most.
	QuorumLossForceNewCluster QuorumLossPolicy = "ForceNewCluster"
)

// DefaultMemberReplacementGrace is the schema's default, for clusters without a recovery policy.
const DefaultMemberReplacementGrace = 5 * time.Minute

// MemberReplacementGrace is how long a member may not serve before another takes its place.
func (s *EtcdClusterSpec) MemberReplacementGrace() time.Duration {
	if s.Recovery == nil || s.Recovery.MemberReplacementGrace == nil {
		return DefaultMemberReplacementGrace
	}
	return s.Recovery.MemberReplacementGrace.Duration
}

// ForcesNewCluster says whether the spec consents to going on from one survivor.
func (s *EtcdClusterSpec) ForcesNewCluster() bool {
	return s.Recovery != nil && s.Recovery.QuorumLoss == QuorumLossForceNewCluster
}

// RecoveryStep is how far a cluster is with its recovery from a lost quorum.
// +kubebuilder:validation:Enum=Forcing;Growing;Complete
type RecoveryStep string

// The steps of a recovery, in order.
const (
	// RecoveryForcing: all other members stop, and the survivor is restarted once with --force-new-cluster.
	RecoveryForcing RecoveryStep = "Forcing"
	// RecoveryGrowing: the survivor served as a cluster of one, and it grows to spec.size.
	RecoveryGrowing RecoveryStep = "Growing"
	// RecoveryComplete: at size, and the volumes of the others are gone.
	RecoveryComplete RecoveryStep = "Complete"
)

// ClusterRecoveryStatus is how far a cluster is with its recovery from a lost quorum.
type ClusterRecoveryStatus struct {
	// step that was reached.
	Step RecoveryStep `json:"step"`
	// message says what is being done.
	// +optional
	Message string `json:"message,omitempty"`
	// member that the cluster goes on from: the survivor that had the highest raftIndex.
	Member string `json:"member"`
	// raftIndex of the last entry that it knew to be committed, and raftTerm, when it was chosen.
	// +optional
	RaftIndex int64 `json:"raftIndex,omitempty"`
	// +optional
	RaftTerm int64 `json:"raftTerm,omitempty"`
	// revision that it served when it was a cluster of one.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// voters that there were, by name, the survivor among them.
	// +optional
	// +listType=atomic
	Voters []string `json:"voters,omitempty"`
	// startedAt is when the survivor was chosen.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
}

package status

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

// following reports how far a standby is, and copies the promotion that the spec asks for: cluster-operator reads only the status.
func (r report) following(s state.State) {
	if !s.Restore.Spec.Follows() {
		return
	}
	f := r.status.Follow
	if f == nil {
		r.False(v1beta2.ConditionFollowing, v1beta2.ReasonFollowingBehind, "The standby has not begun.")
		return
	}
	f.Promote = s.Restore.Spec.Follow.Promote
	switch {
	case f.Promoted != nil:
		r.False(v1beta2.ConditionFollowing, v1beta2.ReasonSeeding, planning.Sentence("The standby was promoted.", state.PromotedSentence(v1beta2.ClusterRestoreStatus{Follow: &f.FollowStatus})))
	case f.Revision == 0:
		r.False(v1beta2.ConditionFollowing, v1beta2.ReasonFollowingBehind, planning.Sentence("The standby has not read its first snapshot yet. ", f.Message))
	case f.Cause != "":
		r.False(v1beta2.ConditionFollowing, v1beta2.ReasonFollowingBroken, planning.Sentence(fmt.Sprintf("The standby keeps revision %d, and begins again when the archive has a newer snapshot (%s): ", f.Revision, f.Cause), f.Message))
	case f.LagSeconds == nil:
		r.False(v1beta2.ConditionFollowing, v1beta2.ReasonFollowingBehind, planning.Sentence(fmt.Sprintf("The standby has revision %d at least, and how far it is behind the archive is not known: ", f.Revision), f.Message))
	case time.Duration(*f.LagSeconds)*time.Second >= v1beta2.FollowLagLimit:
		r.False(v1beta2.ConditionFollowing, v1beta2.ReasonFollowingBehind, planning.Sentence("The standby is more than "+v1beta2.FollowLagLimit.String()+" behind the archive. ", f.Message))
	case f.Promote == v1beta2.FollowPromotePlanned:
		r.True(v1beta2.ConditionFollowing, v1beta2.ReasonFollowing, planning.Sentence("The standby is promoted when "+f.Cluster+" has stopped: set spec.continuous.switchover of its EtcdBackup to true. ", f.Message))
	default:
		r.True(v1beta2.ConditionFollowing, v1beta2.ReasonFollowing, "The standby has all that is in the archive of "+f.Cluster+".")
	}
}

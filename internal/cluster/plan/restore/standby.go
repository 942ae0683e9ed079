package restore

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// isStandby reports whether the restore under way is that of a standby, promoted or not.
func isStandby(s state.State) bool {
	return s.Restore != nil && s.Restore.Follow != nil
}

// promoting reports whether a standby is to become the cluster, or was told so.
func promoting(s state.State, seed state.Member) bool {
	return promotion(s) != "" || seed.Seed != nil && seed.Seed.Promoting
}

// promotion returns how a standby is to become the cluster. The EtcdRestore may have changed that since the status was written.
func promotion(s state.State) v1beta2.FollowPromotion {
	if s.Request != nil && s.Request.Follow != nil && s.Request.Follow.Promote != "" {
		return s.Request.Follow.Promote
	}
	return s.Restore.Follow.Promote
}

// awaitsSource reports whether a standby is promoted when its source has stopped, and follows it until then.
func awaitsSource(s state.State, seed state.Member) bool {
	return promotion(s) == v1beta2.FollowPromotePlanned && seed.Seed != nil && seed.Seed.Promoting && seed.Seed.Following != nil
}

package restore

import (
	"cmp"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// anotherClaim says why the claim of which restore-operator has said that nothing uses it is not the one that the seed mounts; empty if it is. A seed that
// has a Pod mounts the claim that was there when it was scheduled.
func anotherClaim(s state.State, seed state.Member) string {
	accepted := cmp.Or(s.Restore.Volume, VolumeOf(s.Request), &v1beta2.ClusterVolumeStatus{})
	if s.SourceClaim == nil || accepted.ClaimUID == "" || *s.SourceClaim == accepted.ClaimUID {
		return ""
	}
	claim := "PersistentVolumeClaim " + accepted.ClaimName
	if *s.SourceClaim != "" {
		return fmt.Sprintf("%s is another one (UID %s) than the one that restore-operator has accepted (UID %s): it was deleted and created again. To restore what is on it now, create another EtcdRestore.",
			claim, *s.SourceClaim, accepted.ClaimUID)
	}
	if seed.Pod == state.PodNone {
		return claim + " was deleted after restore-operator had accepted it."
	}
	return ""
}

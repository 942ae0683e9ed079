package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/restore/state"
)

// clockSlack is how much the clocks of two operators may differ.
const clockSlack = time.Minute

// recoveredSince reports whether a recovery from a lost quorum may have changed the history of the cluster since a time. It keeps the cluster ID, so a revision
// from before may have other keys.
func recoveredSince(s state.State, at metav1.Time) bool {
	if s.Cluster == nil {
		return false
	}
	since := at.Add(-clockSlack)
	if last := s.Cluster.Status.LastRecovery; last != nil && last.StartedAt.After(since) {
		return true
	}
	recovery := s.Cluster.Status.Recovery
	return recovery != nil && recovery.ForcedAt != nil && recovery.ForcedAt.After(since)
}

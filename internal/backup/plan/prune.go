package plan

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Prune starts to delete the snapshots of a suspended series that retention does not keep.
type Prune struct{}

func (Prune) describe(state.State) planning.Description {
	return planning.Description{Reason: v1beta2.ReasonRemovingSnapshots, Message: pruning, Requeue: progressInterval}
}

// pruneInterval is the shortest time between two deletions of old snapshots while the series is suspended.
const pruneInterval = time.Hour

// pruneTurn returns when old snapshots of a suspended series are to be deleted: after a change of the spec, and then as
// often as the schedule, but at most once an hour. It is zero if all are kept, if there are none, or if they are not of the
// present cluster.
func pruneTurn(s state.State) time.Time {
	p, newest := s.Spec.BackupPolicy, s.Recorded()
	if p.MaxBackups == 0 && p.Retention == nil || newest == nil || newest.ClusterID == "" {
		return time.Time{}
	}
	if s.Spec.EtcdCluster != nil && (s.Cluster == nil || s.Cluster.ID != newest.ClusterID) {
		return time.Time{} // the snapshots are of an earlier cluster, and all of them are kept
	}
	last := s.Status.LastPruneTime
	if s.Fresh() || last == nil || clock.Ahead(last.Time, s.Now) {
		return s.Now
	}
	r, err := state.ScheduleOf(s.Spec)
	if err != nil {
		return time.Time{}
	}
	due := r.Next(last.Time)
	if first := last.Add(pruneInterval); due.Before(first) {
		due = first
	}
	return due
}

// suspendedSeriesIsPruned deletes old snapshots while no new ones are taken.
func suspendedSeriesIsPruned(s state.State) Step {
	if !s.Suspended() {
		return nil
	}
	at := pruneTurn(s)
	if at.IsZero() || s.Now.Before(at) {
		return nil
	}
	return Prune{}
}

package statetest

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
)

// Cron is a series by a schedule, and t0 is 10:00 on a Saturday.
func Cron(expression string, changes ...Change) state.State {
	return One(append([]Change{func(s *state.State) {
		s.CreatedAt = T0.Add(-100 * time.Hour)
		s.Spec.BackupPolicy = &v1beta2.BackupPolicy{Schedule: expression}
	}}, changes...)...)
}

// Suspends suspends the series.
func Suspends(s *state.State) { s.Spec.BackupPolicy.Suspend = true }

// Deletes sets deletionPolicy to Delete.
func Deletes(s *state.State) { s.Spec.DeletionPolicy = v1beta2.DeletionDelete }

// Marks saves a cluster without quorum, too.
func Marks(s *state.State) { s.Spec.NoQuorum = v1beta2.NoQuorumMark }

// DrillsAt asks for restore tests by a schedule.
func DrillsAt(at string) Change {
	return func(s *state.State) { s.Spec.Drill = &v1beta2.DrillPolicy{Schedule: at} }
}

// Asks sets the annotation that asks for a snapshot now.
func Asks(value, handled string) Change {
	return func(s *state.State) { s.Request, s.Status.HandledRequest = value, handled }
}

// OfKnownCluster gives the newest snapshot a cluster ID.
func OfKnownCluster(s *state.State) { s.Status.Snapshot.ClusterID = "0000000000000001" }

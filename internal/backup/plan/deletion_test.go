package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestASuspendedSeriesOfAnEarlierClusterIDIsKept(t *testing.T) {
	s := statetest.Series(statetest.Suspends, statetest.Keep(1), statetest.Proven(2*time.Hour), statetest.Of(statetest.Available()), func(s *state.State) {
		s.Status.Snapshot.ClusterID = "00000000000000aa" // the cluster was restored since
	})
	if step := next(s); step == (Prune{}) {
		t.Errorf("prunes the snapshots of cluster ID aa, the present one is %s", s.Cluster.ID)
	}
	gone := statetest.Series(statetest.Suspends, statetest.Keep(1), statetest.Proven(2*time.Hour), statetest.Of(nil), func(s *state.State) { s.Status.Snapshot.ClusterID = "00000000000000aa" })
	if step := next(gone); step == (Prune{}) {
		t.Errorf("prunes the snapshots of a cluster that does not exist")
	}
}

func TestAFinalSnapshotThatIsQueuedDelaysTheDeletionTenMinutes(t *testing.T) {
	s := statetest.Series(finally(time.Minute))
	s.Attempt = &state.Attempt{Request: s.Request, Generation: 1, Number: 1, StartedAt: statetest.T0, Queued: true}
	step := next(s)
	if d := Describe(step, s); d.Requeue > FinalLimit {
		t.Errorf("%T is looked at again after %s", step, d.Requeue)
	}
}

func TestAFinalSnapshotThatFailedDelaysTheDeletionTenMinutes(t *testing.T) {
	s := statetest.Series(finally(time.Minute), failedTries(4, 8*time.Minute), func(s *state.State) {
		s.DeletedAt, s.DeletingFor = statetest.T0.Add(-7*time.Minute), 7*time.Minute
		s.Request = FinalRequest(s.DeletedAt)
		s.Spec.Verify = v1beta2.VerifyRestore
	})
	step := next(s)
	if d := Describe(step, s); d.Requeue > 3*time.Minute {
		t.Errorf("%T is looked at again after %s, 3m are left", step, d.Requeue)
	}
}

func TestAFinalSnapshotOfAnInvalidSpecIsReportedAsMissed(t *testing.T) {
	s := statetest.Series(finally(time.Minute), func(s *state.State) { s.Spec.StorageType = "OSS" })
	s.Request = FinalRequest(s.DeletedAt)
	step := next(s)
	if d := Describe(step, s); len(d.Events) == 0 || d.Events[0].Reason != "FinalSnapshotMissed" {
		t.Errorf("problem %v: %#v without an event", s.Problem, step)
	}
}

func TestAFinalSnapshotIsOfThePresentSpec(t *testing.T) {
	s := statetest.Series(finally(time.Minute), statetest.Edited)
	s.Status.ObservedGeneration = 2
	s.Attempt = &state.Attempt{Request: s.Request, Generation: 1, Number: 1, StartedAt: statetest.T0}
	if step := next(s); step == (Watch{}) {
		t.Errorf("the attempt of the old spec continues and counts as final")
	}
}

func TestAFinalSnapshotIsNotTakenOfAClusterThatWasCreatedLater(t *testing.T) {
	s := statetest.Series(finally(time.Minute), statetest.Of(statetest.Available()), func(s *state.State) { s.Cluster.CreatedAt = statetest.T0 })
	if step, missed := next(s).(Release); !missed || !strings.Contains(step.Missed, "does not exist any more") {
		t.Errorf("%#v", next(s))
	}
}

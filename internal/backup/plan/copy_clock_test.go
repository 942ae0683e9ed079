package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// The clock of the node was a year ahead during one copy, and is right again. A new snapshot was taken since.
func TestACopyByAClockThatWasAheadDoesNotStopLaterCopies(t *testing.T) {
	s := statetest.Series(func(s *state.State) {
		s.Spec.CopyTo = &v1beta2.CopyTarget{}
		s.Status.LastSuccessDate = &metav1.Time{Time: s.Now.Add(-time.Minute)}
		s.Status.Snapshot = &v1beta2.Snapshot{Path: "bucket/dir/snap.db/ns/b/0000000000000001/x.db", ClusterID: "0000000000000001", SHA256: "new", CreatedAt: s.Now.Add(-time.Minute).Format(time.RFC3339)}
		s.Status.Copies = &v1beta2.BackupCopies{
			ObservedGeneration: s.Generation, LastAttemptTime: &metav1.Time{Time: s.Now.Add(365 * 24 * time.Hour)},
			Newest: &v1beta2.Snapshot{SHA256: "old", CreatedAt: s.Now.Add(-time.Hour).Format(time.RFC3339)},
		}
	})
	if CopyTurn(s).IsZero() {
		t.Error("the newest snapshot is not in the second location, and no copy is due for a year")
	}
}

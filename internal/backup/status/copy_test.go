package status

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

// A user who reads "Copied" deletes the first bucket.
func TestACopyIsNotCalledCompleteWithoutTheNewestSnapshot(t *testing.T) {
	for name, test := range map[string]struct{ kept, want string }{
		"the newest snapshot was copied":   {"a", "The second location has the newest snapshot."},
		"the newest snapshot was left out": {"b", "The second location does not have the newest snapshot: it is newer than the copy, cannot be read, or is not kept there."},
		"the location is still empty":      {"", "The second location does not have the newest snapshot: it is newer than the copy, cannot be read, or is not kept there."},
	} {
		s := statetest.Series(statetest.Proven(time.Minute), statetest.OfKnownCluster, statetest.Copies)
		s.Status.Snapshot.SHA256 = "a"
		s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Result: &state.Result{}}
		if test.kept != "" {
			s.Copy.Result.Kept = []v1beta2.Snapshot{{SHA256: test.kept, CreatedAt: s.Status.Snapshot.CreatedAt}}
		}
		out := NewStatus(s, plan.ReportCopy{}, nil)
		if c := meta.FindStatusCondition(out.Conditions, v1beta2.ConditionCopied); c == nil || c.Message != test.want {
			t.Errorf("%s: %+v, want the message %q", name, c, test.want)
		}
	}
}

// The alert about a second location that is behind uses this value.
func TestTheStatusSaysHowFarTheSecondLocationIsBehind(t *testing.T) {
	s := statetest.Series(statetest.Proven(time.Minute), statetest.OfKnownCluster, statetest.Copies, statetest.CopiedAt("b", state.Stamp(statetest.T0.Add(-61*time.Minute)), time.Hour))
	s.Status.Snapshot.CreatedAt = state.Stamp(statetest.T0.Add(-time.Minute))
	if out := NewStatus(s, plan.Scheduled{At: statetest.T0.Add(time.Hour)}, nil); out.Copies.LagSeconds != 3600 {
		t.Errorf("%d seconds behind, want 3600", out.Copies.LagSeconds)
	}
}

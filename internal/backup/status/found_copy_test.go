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

// A snapshot is requested at 09:59 and stored at 10:02. A copy of older snapshots begins at 10:00 and lists before that. The operator is killed before
// it reports the snapshot, and the next one finds it in the store. It was not copied before the next snapshot: a user who lost the first location lost it.
func TestASnapshotThatWasFoundInTheStoreIsCopied(t *testing.T) {
	t0 := statetest.T0
	s := statetest.Series(statetest.Proven(24*time.Hour), statetest.OfKnownCluster, statetest.Copies, statetest.CopiedAt("before", state.Stamp(t0.Add(-24*time.Hour)), 8*time.Minute))
	s.Status.Snapshot.SHA256 = "before"
	s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Number: 1, StartedAt: t0.Add(-8 * time.Minute), Result: &state.Result{
		EndedAt: t0.Add(-7 * time.Minute), Kept: []v1beta2.Snapshot{{SHA256: "before", CreatedAt: s.Status.Snapshot.CreatedAt}},
	}}
	s.Status = NewStatus(s, plan.ReportCopy{}, nil)
	s.Copy = nil
	found := *s.Status.Snapshot
	found.Path, found.SHA256, found.CreatedAt = found.Path+"-later", "newest", state.Stamp(t0.Add(-9*time.Minute))
	s.Attempt = &state.Attempt{Generation: 1, Number: 1, StartedAt: t0.Add(-time.Minute), Result: &state.Result{EndedAt: t0, Found: true, Snapshot: &found, Kept: []v1beta2.Snapshot{found}}}
	s.Status = NewStatus(s, plan.Report{}, nil)
	if s.Status.Snapshot.SHA256 != "newest" || s.Status.LastSuccessDate == nil {
		t.Fatalf("%+v", s.Status)
	}
	s.Attempt = nil
	if turn := plan.CopyTurn(s); turn.IsZero() {
		c := meta.FindStatusCondition(s.Status.Conditions, v1beta2.ConditionCopied)
		t.Errorf("the newest snapshot is not in the second location, and is not copied until the next one; Copied is %s: %s", c.Status, c.Message)
	}
	// The second location does not keep it. It is not copied again and again.
	s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Number: 1, StartedAt: s.Now, Result: &state.Result{EndedAt: s.Now, Kept: []v1beta2.Snapshot{{SHA256: "before"}}}}
	s.Status.Copies.LastAttemptTime = state.Second(s.Now)
	s.Status = NewStatus(s, plan.ReportCopy{}, nil)
	if s.Copy = nil; !plan.CopyTurn(s).IsZero() {
		t.Errorf("a copy follows at %s, and finds the same", plan.CopyTurn(s))
	}
}

// The store answered an upload with an error and kept the snapshot. A copy had listed the snapshots before that, and the next attempt found the
// snapshot while the copy still ran. The end of that copy must not count the snapshot as copied: a user who lost the first location lost it.
func TestASnapshotThatWasFoundDuringACopyIsCopiedAfterIt(t *testing.T) {
	t0 := statetest.T0
	s := statetest.Series(statetest.Proven(24*time.Hour), statetest.OfKnownCluster, statetest.Copies, statetest.CopiedAt("before", state.Stamp(t0.Add(-24*time.Hour)), 2*time.Minute))
	s.Status.Snapshot.SHA256 = "before"
	found := *s.Status.Snapshot
	found.Path, found.SHA256, found.CreatedAt = found.Path+"-later", "newest", state.Stamp(t0.Add(-3*time.Minute))
	copies := &state.Attempt{Kind: state.KindCopy, Generation: 1, Number: 1, StartedAt: t0.Add(-2 * time.Minute)}
	s.Copy = copies
	s.Attempt = &state.Attempt{Generation: 1, Number: 1, StartedAt: t0.Add(-time.Minute), Result: &state.Result{EndedAt: t0, Found: true, Snapshot: &found, Kept: []v1beta2.Snapshot{found}}}
	s.Status = NewStatus(s, plan.Report{}, nil)
	s.Attempt = nil
	copies.Result = &state.Result{EndedAt: t0, Kept: []v1beta2.Snapshot{{SHA256: "before"}}}
	s.Status = NewStatus(s, plan.ReportCopy{}, nil)
	if s.Copy = nil; plan.CopyTurn(s).IsZero() {
		t.Errorf("the snapshot is not copied until the next one: %+v", s.Status.Copies)
	}
}

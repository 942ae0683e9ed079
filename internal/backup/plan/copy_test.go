package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
)

func TestTheNextStepOfACopy(t *testing.T) {
	taken := func(s *state.State) {
		statetest.Proven(time.Minute)(s)
		statetest.OfKnownCluster(s)
		s.Status.Snapshot.SHA256 = "a"
	}
	failed := func(n int32, in time.Duration) statetest.Change {
		return func(s *state.State) {
			statetest.CopiedAt("b", "", 2*time.Minute)(s)
			s.Status.Copies.Attempts, s.Status.Copies.NextTime = n, &metav1.Time{Time: statetest.T0.Add(in)}
		}
	}
	scheduled := Scheduled{At: statetest.T0.Add(59 * time.Minute)}
	tests := map[string]struct {
		state state.State
		want  Step
	}{
		"copies the first snapshot":                                        {statetest.Series(taken, statetest.Copies), Copy{Number: 1}},
		"copies nothing without a snapshot":                                {statetest.Series(statetest.Copies), TakeSnapshot{Number: 1}},
		"copies nothing if the second location has the newest snapshot":    {statetest.Series(taken, statetest.Copies, statetest.CopiedAt("a", state.Stamp(statetest.T0.Add(-time.Minute)), time.Second)), scheduled},
		"copies nothing if the last copy did not keep the newest snapshot": {statetest.Series(taken, statetest.Copies, statetest.CopiedAt("b", "", time.Second)), scheduled},
		"copies a newer snapshot":                                          {statetest.Series(taken, statetest.Copies, statetest.CopiedAt("b", "", time.Hour)), Copy{Number: 1}},
		"copies again after a change of the spec":                          {statetest.Series(taken, statetest.Copies, statetest.CopiedAt("a", state.Stamp(statetest.T0.Add(-time.Minute)), time.Second), statetest.Edited), Copy{Number: 1}},
		"waits after a failed copy while the series continues":             {statetest.Series(taken, statetest.Copies, failed(3, time.Minute)), scheduled},
		"repeats a failed copy":                                            {statetest.Series(taken, statetest.Copies, failed(3, 0)), Copy{Number: 4}},
		"takes a snapshot while a copy runs":                               {statetest.Series(statetest.Proven(2*time.Hour), statetest.Copies, func(s *state.State) { s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Number: 1} }), TakeSnapshot{Number: 1}},
		"reports a copy while a snapshot is taken": {statetest.Series(taken, statetest.Copies, statetest.Attempt(state.Attempt{Generation: 1}), func(s *state.State) {
			s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1, Result: &state.Result{}}
		}), ReportCopy{}},
		"stops a copy of an old spec":                                              {statetest.Series(taken, statetest.Copies, func(s *state.State) { s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 0} }), CancelCopy{}},
		"continues the series if the second location is invalid":                   {statetest.Series(taken, statetest.Copies, func(s *state.State) { s.CopyProblem = &state.Failure{Reason: "InvalidSpec", Message: "Wrong."} }), scheduled},
		"a copy is stopped if the series is deleted":                               {statetest.Series(taken, statetest.Copies, statetest.Deletes, held, deleted, func(s *state.State) { s.Copy = &state.Attempt{Kind: state.KindCopy, Generation: 1} }), CancelCopy{}},
		"copies the rest of a long series":                                         {statetest.Series(taken, statetest.Copies, statetest.CopiedAt("a", state.Stamp(statetest.T0.Add(-time.Minute)), time.Second), func(s *state.State) { s.Status.Copies.Missing = 5 }), Copy{Number: 1}},
		"releases the series after 10 minutes if the final snapshot is not copied": {statetest.Series(taken, statetest.Copies, finally(11*time.Minute), func(s *state.State) { s.Status.HandledRequest = s.Request }), Release{}},
		"copies the final snapshot":                                                {statetest.Series(taken, statetest.Copies, finally(time.Minute), func(s *state.State) { s.Status.HandledRequest = s.Request }), Copy{Number: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "a copy is stopped if the series is deleted" {
				test.state.DeletedAt = statetest.T0
			}
			if diff := cmp.Diff(test.want, next(test.state)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADeletionReportsTheCopiesThatItLeft(t *testing.T) {
	s := statetest.Series(statetest.Copies, statetest.Deletes, held, deleted, func(s *state.State) {
		s.CopyProblem = &state.Failure{Reason: "InvalidSpec", Message: "Write another path."}
	})
	events := Describe(Release{Removed: 3}, s).Events
	if len(events) != 1 || events[0].Reason != "SnapshotsLeft" || !strings.Contains(events[0].Note, "Those of the second location are still there. Write another path.") {
		t.Errorf("events %+v, want a warning that the copies are left", events)
	}
}

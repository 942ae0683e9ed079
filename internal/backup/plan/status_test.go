package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

func TestTheEventsOfEachStep(t *testing.T) {
	tests := map[string]struct {
		state state.State
		step  Step
		want  []planning.Event
	}{
		"reports a snapshot": {statetest.One(statetest.Ended(1, state.Result{Snapshot: statetest.SnapshotAt("b/k", statetest.T0)})), Report{}, []planning.Event{
			{Type: "Normal", Reason: "SnapshotTaken", Action: "TakeSnapshot", Note: "Snapshot b/k holds revision 42, with 7 keys and 4096 bytes. It took 3s."},
		}},
		"does not report a snapshot that existed before": {statetest.Series(statetest.Ended(1, state.Result{Found: true, Snapshot: statetest.SnapshotAt("b/k", statetest.T0)})), Report{}, nil},
		"warns about a failure": {statetest.One(statetest.Ended(2, state.Result{Failure: &state.Failure{Reason: "AccessDenied", Message: "denied"}})), Report{}, []planning.Event{
			{Type: "Warning", Reason: "AccessDenied", Action: "TakeSnapshot", Note: "Attempt 2 to take a snapshot failed. denied"},
		}},
		"reports a snapshot and a failed deletion": {statetest.Series(statetest.Ended(1, state.Result{Snapshot: statetest.SnapshotAt("b/k", statetest.T0), Pruned: 1, PruneProblem: "locked"})), Report{}, []planning.Event{
			{Type: "Normal", Reason: "SnapshotTaken", Action: "TakeSnapshot", Note: "Snapshot b/k holds revision 42, with 7 keys and 4096 bytes. It took 3s."},
			{Type: "Normal", Reason: "SnapshotsRemoved", Action: "RemoveSnapshots", Note: "The operator deleted old snapshots: 1."},
			{Type: "Warning", Reason: "RemoveFailed", Action: "RemoveSnapshots", Note: "locked"},
		}},
		"warns about an invalid spec":       {statetest.One(), Refuse{Reason: "InvalidSpec", Message: "m"}, []planning.Event{{Type: "Warning", Reason: "InvalidSpec", Action: "Validate", Note: "m"}}},
		"publishes no event while it waits": {statetest.One(), Wait{Reason: "SecretMissing"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Describe(test.step, test.state).Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// data gives every member a storage version, and the target version of a downgrade in progress.
func data(storage, downgrade string) change {
	return func(s *state.State) {
		for i := range s.Members {
			s.Members[i].StorageVersion, s.Members[i].Downgrade, s.Members[i].AppliedIndex = storage, downgrade, 40
		}
	}
}

func preparedFor(to string, step v1beta2.VersionChangeStep) change {
	return func(s *state.State) { s.VersionChange = &v1beta2.VersionChangeStatus{To: to, Step: step, Index: 40} }
}

func running(v string) func(*state.Member) {
	return func(m *state.Member) {
		withImage(v)(m)
		m.StorageVersion = state.Minor(v) + ".0"
	}
}

func TestPlanPrepare(t *testing.T) {
	up, down := ofVersion("3.7.3"), ofVersion("3.5.35")
	stop := func(i int, v string) steps.Step {
		return steps.DeletePod{Name: nameOf(i), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v" + v}
	}
	preparing := func(to, what, who string) steps.Step {
		return steps.Wait{Reason: v1beta2.ReasonUpgrading, Message: "The operator is preparing the data for " + to + ", and all members serve. etcd is " + what + " on " + who + ". To cancel, set spec.version to 3.6.16 again."}
	}
	late := func(m *state.Member) { m.AppliedIndex = 39 }
	planTests{
		"enables a downgrade, so that every member takes a raft snapshot before 3.7 reads its log": {
			stateWith(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangePreparing)), steps.EnableDowngrade{To: "3.5.0", For: "3.7"},
		},
		"records that the preparation for 3.7 begins": {
			stateWith(formed, members(3), up, data("3.6.0", "")), steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"waits until an earlier version change is finished": {
			stateWith(formed, members(3), up, data("3.6.0", ""), with(1, func(m *state.Member) { m.StorageVersion = "3.5.0" })),
			preparing("3.7.3", "finishing the change to 3.6", nameOf(1)),
		},
		"waits for the raft snapshot of the last member": {
			stateWith(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangePreparing), with(2, func(m *state.Member) { m.StorageVersion = "3.6.0" })),
			preparing("3.7.3", "converting the data to 3.5", nameOf(2)),
		},
		"records that the raft snapshots exist, and the index of the log": {
			stateWith(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangePreparing)), steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeSnapshotted, Index: 40},
		},
		"cancels the downgrade once the raft snapshots are recorded": {
			stateWith(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangeSnapshotted)), steps.CancelDowngrade{From: "3.5"},
		},
		"waits until every member is back at cluster version 3.6": {
			stateWith(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeSnapshotted), with(0, func(m *state.Member) { m.StorageVersion = "3.5.0" })),
			preparing("3.7.3", "returning to cluster version 3.6", nameOf(0)),
		},
		"waits for a member that has not applied the log up to the recorded index": {
			stateWith(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeSnapshotted), with(1, late)),
			preparing("3.7.3", "returning to cluster version 3.6", nameOf(1)),
		},
		"records that the data is ready for 3.7": {
			stateWith(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeSnapshotted)),
			steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeReady, Index: 40},
		},
		"rolls to 3.7 once the data is ready": {
			stateWith(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeReady)), stop(1, "3.7.3"),
		},
		"continues the roll if one member runs 3.7 and the status was lost": {
			stateWith(formed, members(3), up, data("3.6.0", ""), with(1, withImage("3.7.3"))), stop(2, "3.7.3"),
		},
		"cancels a preparation if the spec asks for the old version again": {
			stateWith(formed, members(3), data("3.5.0", "3.5.0")), steps.CancelDowngrade{From: "3.5"},
		},
		"enables a downgrade of the data before a member runs an older minor version": {
			stateWith(formed, members(3), down, data("3.6.0", ""), preparedFor("3.5", v1beta2.VersionChangePreparing)), steps.EnableDowngrade{To: "3.5.0", For: "3.5"},
		},
		"stops no member before the data is converted to 3.5": {
			stateWith(formed, members(3), down, data("3.6.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangePreparing)), preparing("3.5.35", "converting the data to 3.5", nameOf(0)+", "+nameOf(1)+", "+nameOf(2)),
		},
		"records that the data is ready for 3.5": {
			stateWith(formed, members(3), down, data("3.5.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangePreparing)), steps.RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangeReady, Index: 40},
		},
		"rolls to 3.5 once the data is ready": {
			stateWith(formed, members(3), down, data("3.5.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangeReady)), stop(1, "3.5.35"),
		},
		"prepares the data again if another client cancelled the downgrade": {
			stateWith(formed, members(3), down, data("3.6.0", ""), preparedFor("3.5", v1beta2.VersionChangeReady)), steps.RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"takes back the record that the data is ready before it cancels the downgrade": {
			stateWith(formed, size(4), members(3), down, data("3.5.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangeReady)), steps.RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"cancels the downgrade itself if no member reports whether it has ended": {
			stateWith(formed, members(3), down, everyImage("3.5.35"), preparedFor("3.5", v1beta2.VersionChangePreparing)), steps.CancelDowngrade{From: "3.5"},
		},
		"cancels a downgrade if the spec asks for 3.6 again and one member runs 3.5": {
			stateWith(formed, members(3), ofVersion("3.6.16"), data("3.5.0", "3.5.0"), with(1, running("3.5.35"))), steps.CancelDowngrade{From: "3.5"},
		},
		"rolls the member on 3.5 to 3.6 once the downgrade is cancelled": {
			stateWith(formed, members(3), ofVersion("3.6.16"), data("3.5.0", ""), with(1, running("3.5.35"))), stop(1, "3.6.16"),
		},
		"rolls the member on 3.6 back to 3.5 if the spec asks for 3.5 again": {
			stateWith(formed, members(3), everyImage("3.5.35"), down, data("", ""), with(1, withImage("3.6.16"), func(m *state.Member) { m.StorageVersion = "3.5.0" })), stop(1, "3.5.35"),
		},
		"waits for the data of the member on 3.6 before it rolls it back to 3.5": {
			stateWith(formed, members(3), everyImage("3.5.35"), down, data("", ""), with(1, running("3.6.16"))),
			steps.Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + nameOf(1) + " is still at 3.6. etcd is converting it to 3.5."},
		},
		"cancels a downgrade before it adds a member": {
			stateWith(formed, size(4), members(3), down, data("3.6.0", "3.5.0")), steps.CancelDowngrade{From: "3.5"},
		},
	}.run(t)
}

func TestPreparationsAreForgotten(t *testing.T) {
	ready := preparedFor("3.7", v1beta2.VersionChangeReady)
	tests := map[string]struct {
		state state.State
		kept  bool
	}{
		"the record is kept while members are rolled":                {stateWith(formed, members(3), ofVersion("3.7.3"), ready, with(1, withImage("3.7.3"))), true},
		"the record is removed once all members run the new version": {stateWith(formed, members(3), everyImage("3.7.3"), ofVersion("3.7.3"), ready), false},
		"the record is removed if the spec asks for another version": {stateWith(formed, members(3), ready), false},
		"the record is kept while etcd has a downgrade in progress":  {stateWith(formed, members(3), data("3.5.0", "3.5.0"), ready), true},
		"the record is kept while no member answers":                 {stateWith(formed, members(3), ready, noQuorum, with(0, silent), with(1, silent), with(2, silent)), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := NewStatus(test.state, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1).VersionChange
			var want *v1beta2.VersionChangeStatus
			if test.kept {
				want = test.state.VersionChange
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("versionChange (-want +got):\n%s", diff)
			}
		})
	}
}

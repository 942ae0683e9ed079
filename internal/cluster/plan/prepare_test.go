package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// data is of a version, on every member, and may be on its way down to another.
func data(storage, downgrade string) change {
	return func(s *State) {
		for i := range s.Members {
			s.Members[i].StorageVersion, s.Members[i].Downgrade, s.Members[i].AppliedIndex = storage, downgrade, 40
		}
	}
}

func preparedFor(to string, step v1beta2.VersionChangeStep) change {
	return func(s *State) { s.VersionChange = &v1beta2.VersionChangeStatus{To: to, Step: step, Index: 40} }
}

func running(v string) func(*Member) {
	return func(m *Member) {
		withImage(v)(m)
		m.StorageVersion = minor(v) + ".0"
	}
}

func TestPlanPrepare(t *testing.T) {
	up, down := ofVersion("3.7.3"), ofVersion("3.5.35")
	stop := func(i int, v string) Step {
		return DeletePod{Name: nameOf(i), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v" + v}
	}
	preparing := func(to, what, who string) Step {
		return Wait{Reason: v1beta2.ReasonUpgrading, Message: "The operator is preparing the data for " + to + ", and all members serve. etcd is " + what + " on " + who + ". To cancel, set spec.version to 3.6.16 again."}
	}
	late := func(m *Member) { m.AppliedIndex = 39 }
	planTests{
		"has every member take a raft snapshot before 3.7 reads its log": {
			state(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangePreparing)), EnableDowngrade{To: "3.5.0", For: "3.7"},
		},
		"keeps that it begins with that": {
			state(formed, members(3), up, data("3.6.0", "")), RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"waits with that until an earlier change is through": {
			state(formed, members(3), up, data("3.6.0", ""), with(1, func(m *Member) { m.StorageVersion = "3.5.0" })),
			preparing("3.7.3", "finishing the change to 3.6", nameOf(1)),
		},
		"waits for the last member's snapshot": {
			state(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangePreparing), with(2, func(m *Member) { m.StorageVersion = "3.6.0" })),
			preparing("3.7.3", "converting the data to 3.5", nameOf(2)),
		},
		"keeps that the snapshots are there, and how far the log was": {
			state(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangePreparing)), RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeSnapshotted, Index: 40},
		},
		"takes the cluster's version back up then": {
			state(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangeSnapshotted)), CancelDowngrade{From: "3.5"},
		},
		"waits until it is there on every member": {
			state(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeSnapshotted), with(0, func(m *Member) { m.StorageVersion = "3.5.0" })),
			preparing("3.7.3", "returning to cluster version 3.6", nameOf(0)),
		},
		"does not take a member that lags for one that has its snapshot": {
			state(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeSnapshotted), with(1, late)),
			preparing("3.7.3", "returning to cluster version 3.6", nameOf(1)),
		},
		"keeps that the data is ready": {
			state(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeSnapshotted)),
			RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeReady, Index: 40},
		},
		"rolls to 3.7 then": {
			state(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeReady)), stop(1, "3.7.3"),
		},
		"continues when one runs 3.7 and the status was lost": {
			state(formed, members(3), up, data("3.6.0", ""), with(1, withImage("3.7.3"))), stop(2, "3.7.3"),
		},
		"calls a preparation off when the user does": {
			state(formed, members(3), data("3.5.0", "3.5.0")), CancelDowngrade{From: "3.5"},
		},
		"brings the data down before a member runs an older minor": {
			state(formed, members(3), down, data("3.6.0", ""), preparedFor("3.5", v1beta2.VersionChangePreparing)), EnableDowngrade{To: "3.5.0", For: "3.5"},
		},
		"stops nobody before it is down": {
			state(formed, members(3), down, data("3.6.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangePreparing)), preparing("3.5.35", "converting the data to 3.5", nameOf(0)+", "+nameOf(1)+", "+nameOf(2)),
		},
		"keeps that it is": {
			state(formed, members(3), down, data("3.5.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangePreparing)), RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangeReady, Index: 40},
		},
		"rolls down then": {
			state(formed, members(3), down, data("3.5.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangeReady)), stop(1, "3.5.35"),
		},
		"does it again when somebody cancelled it": {
			state(formed, members(3), down, data("3.6.0", ""), preparedFor("3.5", v1beta2.VersionChangeReady)), RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"takes back that it is ready before it calls off the way down": {
			state(formed, size(4), members(3), down, data("3.5.0", "3.5.0"), preparedFor("3.5", v1beta2.VersionChangeReady)), RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"ends the way down itself where no member says whether it has ended": {
			state(formed, members(3), down, everyImage("3.5.35"), preparedFor("3.5", v1beta2.VersionChangePreparing)), CancelDowngrade{From: "3.5"},
		},
		"goes back up half way down": {
			state(formed, members(3), ofVersion("3.6.16"), data("3.5.0", "3.5.0"), with(1, running("3.5.35"))), CancelDowngrade{From: "3.5"},
		},
		"brings the lower one up again then": {
			state(formed, members(3), ofVersion("3.6.16"), data("3.5.0", ""), with(1, running("3.5.35"))), stop(1, "3.6.16"),
		},
		"goes back half way up": {
			state(formed, members(3), everyImage("3.5.35"), down, data("", ""), with(1, withImage("3.6.16"), func(m *Member) { m.StorageVersion = "3.5.0" })), stop(1, "3.5.35"),
		},
		"waits for data that is not down half way back": {
			state(formed, members(3), everyImage("3.5.35"), down, data("", ""), with(1, running("3.6.16"))),
			Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + nameOf(1) + " is still at 3.6. etcd is converting it to 3.5."},
		},
		"calls it off for a member that is to join": {
			state(formed, size(4), members(3), down, data("3.6.0", "3.5.0")), CancelDowngrade{From: "3.5"},
		},
	}.run(t)
}

func TestPreparationsAreForgotten(t *testing.T) {
	ready := preparedFor("3.7", v1beta2.VersionChangeReady)
	tests := map[string]struct {
		state State
		kept  bool
	}{
		"not while members are rolled":          {state(formed, members(3), ofVersion("3.7.3"), ready, with(1, withImage("3.7.3"))), true},
		"when all members are there":            {state(formed, members(3), everyImage("3.7.3"), ofVersion("3.7.3"), ready), false},
		"when the spec asks for something else": {state(formed, members(3), ready), false},
		"not before etcd has left it":           {state(formed, members(3), data("3.5.0", "3.5.0"), ready), true},
		"not while nobody answers":              {state(formed, members(3), ready, noQuorum, with(0, silent), with(1, silent), with(2, silent)), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := NewStatus(test.state, Done{}, nil, v1beta2.EtcdClusterStatus{}, 1).VersionChange
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

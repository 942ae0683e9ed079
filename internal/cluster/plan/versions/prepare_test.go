package versions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestPlanPrepare(t *testing.T) {
	up, down := plantest.OfVersion("3.7.3"), plantest.OfVersion("3.5.35")
	stop := func(i int, v string) steps.Step {
		return steps.DeletePod{Name: plantest.NameOf(i), Reason: v1beta2.ReasonUpgrading, Message: "it must run image quay.io/coreos/etcd:v" + v}
	}
	preparing := func(to, what, who string) steps.Step {
		return steps.Wait{Reason: v1beta2.ReasonUpgrading, Message: "The operator is preparing the data for " + to + ", and all members serve. etcd is " + what + " on " + who + ". To cancel, set spec.version to 3.6.16 again."}
	}
	late := func(m *state.Member) { m.AppliedIndex = 39 }
	plantest.Plans{
		"enables a downgrade, so that every member takes a raft snapshot before 3.7 reads its log": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.7", v1beta2.VersionChangePreparing)), steps.EnableDowngrade{To: "3.5.0", For: "3.7"},
		},
		"records that the preparation for 3.7 begins": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", "")), steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"waits until an earlier version change is finished": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.With(1, func(m *state.Member) { m.StorageVersion = "3.5.0" })),
			preparing("3.7.3", "finishing the change to 3.6", plantest.NameOf(1)),
		},
		"waits for the raft snapshot of the last member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.7", v1beta2.VersionChangePreparing), plantest.With(2, func(m *state.Member) { m.StorageVersion = "3.6.0" })),
			preparing("3.7.3", "converting the data to 3.5", plantest.NameOf(2)),
		},
		"records that the raft snapshots exist, and the index of the log": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.7", v1beta2.VersionChangePreparing)), steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeSnapshotted, Index: 40},
		},
		"cancels the downgrade once the raft snapshots are recorded": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.7", v1beta2.VersionChangeSnapshotted)), steps.CancelDowngrade{From: "3.5"},
		},
		"waits until every member is back at cluster version 3.6": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.7", v1beta2.VersionChangeSnapshotted), plantest.With(0, func(m *state.Member) { m.StorageVersion = "3.5.0" })),
			preparing("3.7.3", "returning to cluster version 3.6", plantest.NameOf(0)),
		},
		"waits for a member that has not applied the log up to the recorded index": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.7", v1beta2.VersionChangeSnapshotted), plantest.With(1, late)),
			preparing("3.7.3", "returning to cluster version 3.6", plantest.NameOf(1)),
		},
		"records that the data is ready for 3.7": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.7", v1beta2.VersionChangeSnapshotted)),
			steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeReady, Index: 40},
		},
		"rolls to 3.7 once the data is ready": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.7", v1beta2.VersionChangeReady)), stop(1, "3.7.3"),
		},
		"continues the roll if one member runs 3.7 and the status was lost": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.With(1, plantest.WithImage("3.7.3"))), stop(2, "3.7.3"),
		},
		"cancels a preparation if the spec asks for the old version again": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Data("3.5.0", "3.5.0")), steps.CancelDowngrade{From: "3.5"},
		},
		"enables a downgrade of the data before a member runs an older minor version": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.5", v1beta2.VersionChangePreparing)), steps.EnableDowngrade{To: "3.5.0", For: "3.5"},
		},
		"stops no member before the data is converted to 3.5": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.6.0", "3.5.0"), plantest.PreparedFor("3.5", v1beta2.VersionChangePreparing)), preparing("3.5.35", "converting the data to 3.5", plantest.NameOf(0)+", "+plantest.NameOf(1)+", "+plantest.NameOf(2)),
		},
		"records that the data is ready for 3.5": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.5", v1beta2.VersionChangePreparing)), steps.RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangeReady, Index: 40},
		},
		"rolls to 3.5 once the data is ready": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.5", v1beta2.VersionChangeReady)), stop(1, "3.5.35"),
		},
		"prepares the data again if another client cancelled the downgrade": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.5", v1beta2.VersionChangeReady)), steps.RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"takes back the record that the data is ready before it cancels the downgrade": {
			plantest.StateWith(plantest.Formed, plantest.Size(4), plantest.Members(3), down, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.5", v1beta2.VersionChangeReady)), steps.RecordVersionChange{To: "3.5", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"cancels the downgrade itself if no member reports whether it has ended": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.EveryImage("3.5.35"), plantest.PreparedFor("3.5", v1beta2.VersionChangePreparing)), steps.CancelDowngrade{From: "3.5"},
		},
		"cancels a downgrade if the spec asks for 3.6 again and one member runs 3.5": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.6.16"), plantest.Data("3.5.0", "3.5.0"), plantest.With(1, plantest.Running("3.5.35"))), steps.CancelDowngrade{From: "3.5"},
		},
		"rolls the member on 3.5 to 3.6 once the downgrade is cancelled": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.6.16"), plantest.Data("3.5.0", ""), plantest.With(1, plantest.Running("3.5.35"))), stop(1, "3.6.16"),
		},
		"rolls the member on 3.6 back to 3.5 if the spec asks for 3.5 again": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.EveryImage("3.5.35"), down, plantest.Data("", ""), plantest.With(1, plantest.WithImage("3.6.16"), func(m *state.Member) { m.StorageVersion = "3.5.0" })), stop(1, "3.5.35"),
		},
		"waits for the data of the member on 3.6 before it rolls it back to 3.5": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.EveryImage("3.5.35"), down, plantest.Data("", ""), plantest.With(1, plantest.Running("3.6.16"))),
			steps.Wait{Reason: v1beta2.ReasonUpgrading, Message: "The data of member " + plantest.NameOf(1) + " is still at 3.6. etcd is converting it to 3.5."},
		},
		"cancels a downgrade before it adds a member": {
			plantest.StateWith(plantest.Formed, plantest.Size(4), plantest.Members(3), down, plantest.Data("3.6.0", "3.5.0")), steps.CancelDowngrade{From: "3.5"},
		},
	}.Run(t, plan.Plan)
}

func TestPreparationsAreForgotten(t *testing.T) {
	ready := plantest.PreparedFor("3.7", v1beta2.VersionChangeReady)
	tests := map[string]struct {
		state state.State
		kept  bool
	}{
		"the record is kept while members are rolled":                {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.3"), ready, plantest.With(1, plantest.WithImage("3.7.3"))), true},
		"the record is removed once all members run the new version": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.EveryImage("3.7.3"), plantest.OfVersion("3.7.3"), ready), false},
		"the record is removed if the spec asks for another version": {plantest.StateWith(plantest.Formed, plantest.Members(3), ready), false},
		"the record is kept while etcd has a downgrade in progress":  {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Data("3.5.0", "3.5.0"), ready), true},
		"the record is kept while no member answers":                 {plantest.StateWith(plantest.Formed, plantest.Members(3), ready, plantest.NoQuorum, plantest.With(0, plantest.Silent), plantest.With(1, plantest.Silent), plantest.With(2, plantest.Silent)), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := plan.NewStatus(test.state, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1).VersionChange
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

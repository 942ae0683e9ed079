package recovery_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// If the status is lost together with all data, the operator does not know how many voters there were. It reported that "the members
// that have data" formed no quorum, named no member, and advised to recover them (SIM_SEED=1, world 2779).
func TestALostQuorumWithoutDataAndRecordIsReportedAsLostData(t *testing.T) {
	noRecord := func(s *state.State) { s.KnownVoters = nil }
	lost := steps.Wait{
		Reason: v1beta2.ReasonQuorumLost, Stalled: true,
		Message: "Quorum is lost: no member that the operator created has its data. etcd accepts no writes. The operator removes nothing. " +
			"To continue from a snapshot, apply an EtcdRestore.",
	}
	plantest.Plans{
		"no member is left": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.NoQuorum, noRecord, func(s *state.State) { s.Members = nil }), lost,
		},
		"the last volumes are being deleted, and have no Pods": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.NoQuorum, noRecord, plantest.With(0, plantest.WithoutPod, plantest.Volume(state.VolumeDeleting)), plantest.With(1, plantest.WithoutPod, plantest.Volume(state.VolumeDeleting))), lost,
		},
		"it is a restored cluster that grows": {
			plantest.StateWith(plantest.Formed, plantest.Restored(v1beta2.RestoreGrowing), plantest.Members(1), plantest.NoQuorum, noRecord, plantest.With(0, plantest.Gone)),
			steps.Wait{
				Reason: v1beta2.ReasonQuorumLost, Stalled: true,
				Message: "Quorum is lost: no member that the operator created has its data. etcd accepts no writes. The operator removes nothing. " +
					"To continue from a snapshot, delete EtcdRestore back and apply another.",
			},
		},
		"an EtcdRestore begins": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.NoQuorum, noRecord, func(s *state.State) { s.Members = nil }, plantest.Asked), plantest.Begins("back", "uid-back"),
		},
	}.Run(t, plan.Plan)
}

package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
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
	planTests{
		"no member is left": {
			stateWith(formed, members(1), noQuorum, noRecord, func(s *state.State) { s.Members = nil }), lost,
		},
		"the last volumes are being deleted, and have no Pods": {
			stateWith(formed, members(2), noQuorum, noRecord, with(0, withoutPod, volume(state.VolumeDeleting)), with(1, withoutPod, volume(state.VolumeDeleting))), lost,
		},
		"it is a restored cluster that grows": {
			stateWith(formed, restored(v1beta2.RestoreGrowing), members(1), noQuorum, noRecord, with(0, gone)),
			steps.Wait{
				Reason: v1beta2.ReasonQuorumLost, Stalled: true,
				Message: "Quorum is lost: no member that the operator created has its data. etcd accepts no writes. The operator removes nothing. " +
					"To continue from a snapshot, delete EtcdRestore back and apply another.",
			},
		},
		"an EtcdRestore begins": {
			stateWith(formed, members(1), noQuorum, noRecord, func(s *state.State) { s.Members = nil }, asked), begins("back", "uid-back"),
		},
	}.run(t)
}

package recovery_test

import (
	"strings"
	"testing"
	"time"

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

// The status may be from before the promotion of a learner, which has acknowledged writes since. Without the wait these are lost. A wait without need keeps a
// cluster down.
func TestARecoveryWaitsForALearnerOnlyIfItMayVoteAndKnowsMore(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.State)
		waits  bool
	}{
		"the record has it as a learner":   {func(*state.State) {}, true},
		"a person has chosen the survivor": {func(s *state.State) { s.Witness = plantest.NameOf(0) }, false},
		"it says that it is a learner":     {func(s *state.State) { s.Members[3].Learner = true }, false},
		"the record does not have it":      {func(s *state.State) { s.KnownLearners = nil }, false},
		"it knows as much as the survivor": {func(s *state.State) { s.Members[3].RaftIndex = 42 }, false},
		"its data is lost":                 {plantest.With(3, plantest.Gone), false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.Consenting, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone))
		for i, index := range map[int]uint64{0: 42, 3: 100} {
			plantest.With(i, plantest.Pod(state.PodRunning), plantest.Knows(index, 1))(&s)
			s.Members[i].UnreadySince = plantest.Noon.Add(-time.Hour)
		}
		s.KnownVoters, s.KnownLearners = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}, []string{plantest.NameOf(3)}
		test.change(&s)
		step := plan.Plan(s)
		wait, is := step.(steps.Wait)
		if waits := is && strings.Contains(wait.Message, "The status says that "+plantest.NameOf(3)+" is a learner"); waits != test.waits {
			t.Errorf("%s: %T %+v", name, step, step)
		}
	}
}

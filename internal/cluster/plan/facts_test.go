package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func TestTheMembersOutrankTheStatus(t *testing.T) {
	incarnation := func(n int32) change { return func(s *state.State) { s.Incarnation = n } }
	seedThere := func(s *state.State) {
		s.Members = append(s.Members, state.Member{Name: seedName, Incarnation: 2, Volume: state.VolumePresent, Pod: state.PodRunning})
	}
	for name, test := range map[string]struct {
		state state.State
		want  int32
	}{
		"the members and the status agree":                                   {stateWith(formed, members(3)), 1},
		"the status has an incarnation that never existed":                   {stateWith(formed, members(3), incarnation(7)), 1},
		"the status has a wrong incarnation, and there is no client Service": {stateWith(formed, members(3), incarnation(7), servicesFor(0, "")), 1},
		"the status has a wrong incarnation, and there are no members":       {stateWith(formed, incarnation(7)), 1},
		"the status lost the incarnation":                                    {stateWith(formed, members(3), incarnation(0)), 1},
		"an old status was put back after a restore":                         {stateWith(formed, members(3), seedThere, servicesFor(2, seedID)), 2},
		"the seed was just adopted":                                          {stateWith(formed, members(3), seedThere, incarnation(2)), 2},
		"the seed was just adopted and lost its Pod":                         {stateWith(formed, members(3), restored(v1beta2.RestoreGrowing), servicesFor(1, oldID)), 2},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.state.Incarnation
			services.CorrectIncarnation(&test.state)
			if got := test.state.Incarnation; got != test.want || (len(test.state.Corrected) > 0) != (before != got) {
				t.Errorf("incarnation %d, want %d; %q", got, test.want, test.state.Corrected)
			}
		})
	}
}

func TestAQuorumOutranksTheClusterIDOfTheStatus(t *testing.T) {
	s := stateWith(formed, members(3), func(s *state.State) { s.ClusterID = "deadbeef" })
	if step, applies := Plan(s).(steps.ApplyServices); applies {
		t.Errorf("an unproven cluster ID is written on the client Service: %+v", step)
	}
	services.CorrectClusterID(&s, 0xaa)
	if s.ClusterID != oldID || len(s.Corrected) != 1 {
		t.Errorf("cluster ID %s; %q", s.ClusterID, s.Corrected)
	}
	if diff := cmp.Diff(steps.Step(steps.Done{}), Plan(s)); diff != "" {
		t.Errorf("Plan (-want +got):\n%s", diff)
	}
	events := Events(s, steps.Done{}, nil, true)
	if len(events) != 1 || events[0].Reason != v1beta2.ReasonContradiction {
		t.Errorf("events are %+v", events)
	}
	if again := Events(s, steps.Done{}, nil, false); len(again) > 0 {
		t.Errorf("the events are repeated: %+v", again)
	}
}

func TestTheClientServiceNeverGoesBackToAnEarlierIncarnation(t *testing.T) {
	s := stateWith(formed, members(3), servicesFor(7, oldID))
	services.CorrectIncarnation(&s)
	if wait, ok := Plan(s).(steps.Wait); !ok || !wait.Stalled || wait.Reason != v1beta2.ReasonContradiction {
		t.Errorf("Plan returned %+v", Plan(s))
	}
	s.Services = state.Services{}
	if diff := cmp.Diff(steps.Step(steps.ApplyServices{Incarnation: 1, ClusterID: oldID}), Plan(s)); diff != "" {
		t.Errorf("once the Service is deleted (-want +got):\n%s", diff)
	}
}

// Each incarnation has a cluster ID of its own. A quorum that answers with the ID on the Service proves that only the
// selector is wrong.
func TestAClientServiceThatSelectsALaterIncarnationIsCorrectedByAProvenQuorum(t *testing.T) {
	s := stateWith(formed, members(3), servicesFor(7, oldID))
	services.CorrectClusterID(&s, 0xaa)
	if diff := cmp.Diff(steps.Step(steps.ApplyServices{Incarnation: 1, ClusterID: oldID}), Plan(s)); diff != "" || len(s.Corrected) != 1 {
		t.Errorf("Plan (-want +got):\n%s\ncorrected: %q", diff, s.Corrected)
	}
	other := stateWith(formed, members(3), servicesFor(7, seedID))
	services.CorrectClusterID(&other, 0xaa)
	if wait, ok := Plan(other).(steps.Wait); !ok || wait.Reason != v1beta2.ReasonContradiction || len(other.Corrected) > 0 {
		t.Errorf("the Service was made for another cluster, and Plan returned %+v; corrected: %q", Plan(other), other.Corrected)
	}
}

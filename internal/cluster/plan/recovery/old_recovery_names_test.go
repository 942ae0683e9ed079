package recovery_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A month ago the nodes of 1 and 2 were lost with their claims. The cluster recovered from 0 and grew: nextName reuses the names of 1 and 2.
func reusedNames() state.State {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum)
	monthOld(&s)
	s.KnownIDs = map[string]etcd.ID{plantest.NameOf(0): s.Members[0].ID, plantest.NameOf(1): 0xb1, plantest.NameOf(2): 0xb2}
	s.KnownVolumes = map[string]state.VolumeID{plantest.NameOf(1): {Claim: "old-1", Volume: "pv-old-1"}, plantest.NameOf(2): {Claim: "old-2", Volume: "pv-old-2"}}
	for _, i := range []int{1, 2} {
		s.Members[i].VolumeID = state.VolumeID{Claim: "new", Volume: "pv-new-" + plantest.NameOf(i)}
		s.Members[i].VolumeCreated = plantest.Noon.Add(-29 * 24 * time.Hour)
		s.Members[i].ID = etcd.ID(0xc0 + i)
	}
	return s
}

func TestAnOldStatusForcesNothingIfANewMemberHasTheNameOfAnOldOne(t *testing.T) {
	s := reusedNames()
	membership := membershipOf(s, 0, 1, 2)
	for i := range 3 {
		plantest.With(i, plantest.Knows(40+uint64(i), 3), func(m *state.Member) { m.Knows, m.AppliedIndex = membership, int64(40+i) })(&s)
	}
	recovery.HearWitness(&s)
	step := plan.Plan(s)
	if d, is := step.(steps.DeletePod); is {
		t.Errorf("stops %s for --force-new-cluster without consent, while all three voters run with their data", d.Name)
	}
	neverForces(t, s)
}

func TestAnOldStatusForcesNoStartingMemberWithTheNameOfAnOldOne(t *testing.T) {
	s := reusedNames()
	for i := range 3 {
		plantest.With(i, plantest.Pod(state.PodStarting))(&s)
	}
	neverForces(t, s)
}

func TestAnOldStatusForcesNoMemberWithoutAPod(t *testing.T) {
	s := reusedNames()
	for i := range 3 {
		plantest.With(i, plantest.WithoutPod)(&s)
	}
	neverForces(t, s)
}

// neverForces carries out the next steps, none of which may start a member with --force-new-cluster.
func neverForces(t *testing.T, s state.State) {
	for range 8 {
		step := plan.Plan(s)
		switch step := step.(type) {
		case steps.DeletePod:
			for i := range s.Members {
				if s.Members[i].Name == step.Name {
					plantest.WithoutPod(&s.Members[i])
				}
			}
		case steps.CancelRecovery:
			s.Recovery = nil
		case steps.CreateMember:
			if step.Start == state.StartForce {
				t.Errorf("%s starts with --force-new-cluster", step.Name)
			}
			return
		default:
			return
		}
	}
}

// The operator's clock is an hour behind the API server. A learner was added 10 minutes before the quorum was lost, and has data.
func TestAClockThatIsBehindCancelsNoRecovery(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.NoQuorum, plantest.With(0, plantest.Knows(42, 3)), plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Knows(41, 3)), plantest.Consenting)
	s.KnownVoters = []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}
	s.KnownLearners = []string{plantest.NameOf(3)}
	s.ServerAhead = time.Hour
	s.Members[3].VolumeCreated = plantest.Noon.Add(time.Hour - 10*time.Minute) // by the API server's clock
	s.Members[0].VolumeCreated = plantest.Noon.Add(-100 * time.Hour)
	status := v1beta2.EtcdClusterStatus{}
	begun, cancelled := 0, 0
	for range 12 {
		step := plan.Plan(s)
		switch d := step.(type) {
		case steps.BeginRecovery:
			begun++
		case steps.CancelRecovery:
			cancelled++
		case steps.DeletePod:
			for i := range s.Members {
				if s.Members[i].Name == d.Name {
					plantest.WithoutPod(&s.Members[i])
				}
			}
		}
		status = plan.NewStatus(s, step, nil, status, 1)
		s.Recovery = status.Recovery
		s.Now = s.Now.Add(steps.Describe(s, step).Requeue)
	}
	if cancelled > 0 {
		t.Errorf("a recovery that the spec allows began %d times and was cancelled %d times", begun, cancelled)
	}
}

package pods

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A learner refuses most requests, and the PodDisruptionBudget would count it as a voter.
func TestALearnerThatRestartsWithoutAQuorumIsNotInTheClientService(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	s.MembershipKnown = false
	name := state.InitialNames(s, 1, 4)[3]
	// While no quorum answers, observe finds only the volume of a learner whose Pod is missing. KnownVoters has the other
	// members.
	s.Members = append(s.Members, state.Member{Name: name, Incarnation: 1, Volume: state.VolumePresent})
	step := plan.Plan(s)
	create, is := step.(steps.CreateMember)
	if !is || create.Name != name {
		t.Fatalf("the plan is %+v", step)
	}
	if pod := NewPod(s, create, ""); pod.Labels[LabelVoter] != "" {
		t.Errorf("known voters are %v, and the Pod of learner %s has the label %s", s.KnownVoters, name, LabelVoter)
	}
}

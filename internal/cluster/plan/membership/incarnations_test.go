package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

func TestAMemberOfTheMembershipIsNoOrphanWhateverItsIncarnation(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Incarnation = 2; plantest.ServicesFor(2, plantest.OldID)(s) })
	for _, m := range s.Members {
		if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); is && step.Name == m.Name {
			t.Errorf("the Pod of member %s is deleted", m.Name)
		}
	}
	withoutPods := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod), func(s *state.State) { s.Incarnation, s.Spec.Size = 2, 3; plantest.ServicesFor(2, plantest.OldID)(s) })
	if step := membership.DeleteOldVolumes(withoutPods); step != nil {
		t.Errorf("a member's volume is deleted: %+v", step)
	}
}

// The old leader waited 7 s for another old member to take over, and answered its clients with errors until then, although the restored cluster
// served. Each of them lost 7 s more than the others.
func TestThePodsOfAnOverIncarnationStopBriefly(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3))
	s.Incarnation = 2
	for i := range s.Members {
		s.Members[i].Incarnation, s.Members[i].InMembership = 2, true
	}
	s.Members[1].Incarnation, s.Members[1].InMembership = 1, false
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); !is || step.Name != plantest.NameOf(1) || !step.Briefly {
		t.Errorf("the old member is stopped by %+v", step)
	}
	s.Members[1].Incarnation = 2 // removed by a scale-down
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); !is || step.Briefly {
		t.Errorf("a member of the present cluster, which hands over to the others, is stopped by %+v", step)
	}
}

package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The old leader waited 7 s for another old member to take over, and answered its clients with errors until then, although the restored cluster
// served. Each of them lost 7 s more than the others.
func TestThePodsOfAnOverIncarnationStopBriefly(t *testing.T) {
	s := stateWith(formed, members(3))
	s.Incarnation = 2
	for i := range s.Members {
		s.Members[i].Incarnation, s.Members[i].InMembership = 2, true
	}
	s.Members[1].Incarnation, s.Members[1].InMembership = 1, false
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); !is || step.Name != nameOf(1) || !step.Briefly {
		t.Errorf("the old member is stopped by %+v", step)
	}
	s.Members[1].Incarnation = 2 // removed by a scale-down
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); !is || step.Briefly {
		t.Errorf("a member of the present cluster, which hands over to the others, is stopped by %+v", step)
	}
}

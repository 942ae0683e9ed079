package confirm

import (
	"errors"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

func TestNoMemberIsRemovedOnARememberedAnswer(t *testing.T) {
	v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3)), Remembered: true}
	remove := steps.RemoveMember{ID: 1, Name: plantest.NameOf(1)}
	for _, step := range []steps.Step{remove, steps.DeletePod{Name: plantest.NameOf(0)}, steps.MoveLeader{}, steps.BeginRecovery{}, steps.CreateMember{Start: state.StartForce}} {
		if err := Asked(v, step); !errors.Is(err, view.ErrRemembered) {
			t.Errorf("%T: %v, expected an error", step, err)
		}
	}
	for _, step := range []steps.Step{steps.CreateMember{Start: state.StartRejoin}, steps.AddToService{}, steps.Done{}, steps.Wait{}} {
		if err := Asked(v, step); err != nil {
			t.Errorf("%T: %v", step, err)
		}
	}
	v.Remembered = false
	if err := Asked(v, remove); err != nil {
		t.Errorf("after all were asked: %v", err)
	}
}

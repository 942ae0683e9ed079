package plan

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// The cluster grows after a recovery from member 0. The status is lost, or an old one comes back, so nothing says any more that the volumes of
// 1 and 2 are those of a recovery. They may have the last copy of a write that etcd acknowledged, and the operator deleted them at once.
func TestTheVolumesOfARecoveryAreSetAsideAlthoughTheStatusIsLost(t *testing.T) {
	marked := func(m *state.Member) { m.Recovered = true }
	s := stateWith(formed, members(3), with(3, volume(state.VolumePresent), marked))
	if step := Plan(s); step != (steps.SetAsideVolume{Name: nameOf(3)}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(s, step).Message)
	}
	s = stateWith(formed, members(3), with(3, volume(state.VolumePresent)))
	if step := Plan(s); step != (steps.DeleteVolume{Name: nameOf(3), Reason: v1beta2.ReasonScaling}) {
		t.Errorf("without a mark, the plan is %T: %s", step, steps.Describe(s, step).Message)
	}
}

// The survivor keeps its volume, and a volume that has the mark needs no other one.
func TestTheVolumesToMarkAreThoseThatARecoveryContinuesWithout(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(1, withoutPod), with(2, withoutPod, func(m *state.Member) { m.Recovered = true }))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(1), nameOf(2)}}
	if got, want := volumes.ReplacedByRecovery(s), []string{nameOf(1)}; !slices.Equal(got, want) {
		t.Errorf("the volumes to mark are %v, want %v", got, want)
	}
	// An old status that has only the earlier recovery would take the mark of that one for known.
	s.Recovery.StartedAt = &metav1.Time{Time: noon}
	for at, want := range map[time.Time][]string{noon.Add(-time.Hour): {nameOf(1), nameOf(2)}, noon: {nameOf(1)}} {
		s.Members[2].RecoveredAt = at
		if got := volumes.ReplacedByRecovery(s); !slices.Equal(got, want) {
			t.Errorf("with a mark of %s, the volumes to mark are %v, want %v", at, got, want)
		}
	}
}

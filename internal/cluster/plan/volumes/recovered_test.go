package volumes_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The survivor keeps its volume, and a volume that has the mark needs no other one.
func TestTheVolumesToMarkAreThoseThatARecoveryContinuesWithout(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod, func(m *state.Member) { m.Recovered = true }))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), Voters: []string{plantest.NameOf(0), plantest.NameOf(1), plantest.NameOf(2)}}
	if got, want := volumes.ReplacedByRecovery(s), []string{plantest.NameOf(1)}; !slices.Equal(got, want) {
		t.Errorf("the volumes to mark are %v, want %v", got, want)
	}
	// An old status that has only the earlier recovery would take the mark of that one for known.
	s.Recovery.StartedAt = &metav1.Time{Time: plantest.Noon}
	for at, want := range map[time.Time][]string{plantest.Noon.Add(-time.Hour): {plantest.NameOf(1), plantest.NameOf(2)}, plantest.Noon: {plantest.NameOf(1)}} {
		s.Members[2].RecoveredAt = at
		if got := volumes.ReplacedByRecovery(s); !slices.Equal(got, want) {
			t.Errorf("with a mark of %s, the volumes to mark are %v, want %v", at, got, want)
		}
	}
}

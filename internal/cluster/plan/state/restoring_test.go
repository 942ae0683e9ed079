package state_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// An API backup may bring back a status from before a recovery. If the operator took the mark for one that the status explains, it would start the data that the
// recovery replaced. If it took the mark for a newer one without need, the cluster would wait for a person.
func TestAMarkIsNewerOnlyIfTheStatusDoesNotHaveItsRecovery(t *testing.T) {
	marked, before := metav1.NewTime(plantest.Noon.Add(-time.Hour)), metav1.NewTime(plantest.Noon.Add(-2*time.Hour))
	recovery := func(step v1beta2.RecoveryStep, started, forced *metav1.Time) *v1beta2.ClusterRecoveryStatus {
		return &v1beta2.ClusterRecoveryStatus{Step: step, Member: plantest.NameOf(0), StartedAt: started, ForcedAt: forced}
	}
	for name, test := range map[string]struct {
		recovery *v1beta2.ClusterRecoveryStatus
		last     *v1beta2.PastRecovery
		newer    bool
	}{
		"the status has no recovery":                         {nil, nil, true},
		"the status is from before the volumes were marked":  {recovery(v1beta2.RecoveryForcing, &marked, nil), nil, true},
		"the survivor was restarted":                         {recovery(v1beta2.RecoveryForcing, &marked, &marked), nil, false},
		"the cluster grows after the recovery":               {recovery(v1beta2.RecoveryGrowing, &marked, nil), nil, false},
		"the status has an older recovery":                   {recovery(v1beta2.RecoveryForcing, &before, nil), nil, true},
		"the status does not say when the recovery began":    {recovery(v1beta2.RecoveryForcing, nil, nil), nil, true},
		"the last recovery is the one that has marked it":    {nil, &v1beta2.PastRecovery{StartedAt: marked}, false},
		"the last recovery is older than the mark":           {nil, &v1beta2.PastRecovery{StartedAt: before}, true},
		"an older recovery runs, and the last one marked it": {recovery(v1beta2.RecoveryGrowing, &before, nil), &v1beta2.PastRecovery{StartedAt: marked}, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.MarkedByRecovery))
		s.Members[1].RecoveredAt, s.Recovery, s.LastRecovery = marked.Time, test.recovery, test.last
		if newer := state.MarkIsNewer(s, s.Members[1]); newer != test.newer {
			t.Errorf("%s: the mark is newer: %t", name, newer)
		}
	}
}

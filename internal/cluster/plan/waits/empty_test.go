package waits_test

import (
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A person must know that the data is not there, whether the operator replaces the member, and when.
func TestAMemberWithAnEmptyVolumeIsReportedAsSuch(t *testing.T) {
	empty := func(m *state.Member) { plantest.BlockedBy(v1beta2.ReasonPodFailing)(m); m.Empty = true }
	fenced := func(s *state.State) { s.Asked.Fence = []string{plantest.NameOf(1)} }
	for what, test := range map[string]struct {
		s    state.State
		says string
	}{
		"one that is replaced": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty)), "Otherwise the operator replaces the member when it has not served for 5m0s."},
		"one that is fenced":   {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, empty), fenced), "remove the member from annotation " + v1beta2.AnnotationFence},
	} {
		wait, is := blockedOf(test.s).(steps.Wait)
		if !is || !strings.Contains(wait.Message, "Its volume has no data") || !strings.Contains(wait.Message, test.says) {
			t.Errorf("%s: %+v", what, wait)
		}
	}
}

func blockedOf(s state.State) steps.Step { return waits.Blocked(s, s.Members) }

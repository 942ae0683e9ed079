package state_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// A user who corrects the image or another field of the Pods would wait up to five minutes for each member whose Pod had failed. Without the pause, a
// Pod that fails at once would be recreated all the time.
func TestOnlyAFailedPodThatTheSpecStillAsksForWaits(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*state.Member)
		waits  bool
	}{
		"the same Pod":         {func(*state.Member) {}, true},
		"another image":        {func(m *state.Member) { m.PodImage = "registry/etcd:v3.6.15" }, false},
		"another Pod template": {func(m *state.Member) { m.Outdated = true }, false},
		"a Pod that runs":      {func(m *state.Member) { m.Pod = state.PodRunning }, false},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodEnded), test.change))
		s.PodFailures = []v1beta2.PodFailure{{Name: plantest.NameOf(1), Count: 9, LastTime: metav1.NewTime(plantest.Noon.Add(-time.Second))}}
		if waits := state.BacksOff(s, s.Members[1]); waits != test.waits {
			t.Errorf("%s: it waits: %t", name, waits)
		}
	}
}

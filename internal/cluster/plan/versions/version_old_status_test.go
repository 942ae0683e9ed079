package versions_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The cluster was upgraded to 3.6. An API backup brings back a status with version 3.5 while all nodes restart, and no member answers with another one. Each
// member starts with 3.5, which etcd refuses, and no change of the spec helps, because a version is only changed while a quorum serves.
func TestAnOldVersionInTheStatusIsForgottenIfEtcdRefusesIt(t *testing.T) {
	for size := 1; size <= 3; size += 2 {
		s := plantest.StateWith(plantest.Formed, plantest.Members(size), plantest.NoQuorum, plantest.OfVersion("3.6.16"))
		s.Spec.Size = size
		s.KnownVersion = "3.5.26"
		for i := range size {
			plantest.With(i, plantest.OnVolume, plantest.Pod(state.PodBlocked), func(m *state.Member) {
				m.PodImage, m.NeedsMinor = s.Spec.ImageOf("3.5.26"), "3.6"
			})(&s)
		}
		if got := state.VersionFor(s, state.FirstIncarnation); got != "3.6.16" {
			t.Errorf("%d members: they start with %s", size, got)
		}
		before := v1beta2.EtcdClusterStatus{CurrentVersion: "3.5.26"}
		if got := plan.NewStatus(s, plan.Plan(s), nil, before, 1).CurrentVersion; got != "" {
			t.Errorf("%d members: the status still has version %s, so the next Pod starts with it", size, got)
		}
		if d, is := plan.Plan(s).(steps.DeletePod); !is {
			t.Errorf("%d members: the plan is %T, and the Pods keep an etcd that does not start", size, d)
		}
	}
}

package versions_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The API backup is from while the data was prepared for 3.7. The cluster runs 3.7 since, and all nodes restart.
func TestAnOldVersionWithAnOldPreparationIsForgotten(t *testing.T) {
	for _, change := range []v1beta2.VersionChangeStatus{
		{To: "3.7", Step: v1beta2.VersionChangePreparing}, {To: "3.7", Step: v1beta2.VersionChangeSnapshotted}, {To: "3.5", Step: v1beta2.VersionChangePreparing},
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.OfVersion("3.7.3"))
		s.KnownVersion = "3.6.16"
		s.VersionChange = change.DeepCopy()
		for i := range 3 {
			plantest.With(i, plantest.OnVolume, plantest.Pod(state.PodBlocked), func(m *state.Member) {
				m.PodReason, m.PodMessage = v1beta2.ReasonPodFailing, "container etcd exits repeatedly"
				m.PodImage, m.NeedsMinor = s.Spec.ImageOf("3.6.16"), "3.7"
			})(&s)
		}
		status := v1beta2.EtcdClusterStatus{CurrentVersion: "3.6.16", VersionChange: s.VersionChange}
		for range 6 {
			step := plan.Plan(s)
			status = plan.NewStatus(s, step, nil, status, 1)
			s.KnownVersion, s.VersionChange = status.CurrentVersion, status.VersionChange
			if d, is := step.(steps.DeletePod); is {
				for i := range s.Members {
					if s.Members[i].Name == d.Name {
						plantest.WithoutPod(&s.Members[i])
						s.Members[i].NeedsMinor = ""
					}
				}
			}
			if c, is := step.(steps.CreateMember); is {
				for i := range s.Members {
					if s.Members[i].Name == c.Name {
						plantest.Pod(state.PodStarting)(&s.Members[i])
						s.Members[i].PodImage = s.ImageFor(1)
					}
				}
			}
		}
		if got := state.VersionFor(s, state.FirstIncarnation); got != "3.7.3" {
			t.Errorf("%v: they start with version %q, image %q; the status has version %q and change %v", change, got, s.ImageFor(1), status.CurrentVersion, status.VersionChange)
		}
	}
}

// A person deletes the Pods, as the status of a Pod that fails suggests.
func TestAnOldVersionWithAnOldPreparationNamesAnImage(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.OfVersion("3.7.3"))
	s.KnownVersion, s.VersionChange = "", &v1beta2.VersionChangeStatus{To: "3.7", Step: v1beta2.VersionChangePreparing} // what the pass before has left in the status
	for i := range 3 {
		plantest.With(i, plantest.WithoutPod)(&s)
	}
	plantest.With(2, plantest.OnVolume, plantest.Pod(state.PodBlocked), func(m *state.Member) { m.PodImage, m.NeedsMinor = s.Spec.ImageOf("3.6.16"), "3.7" })(&s)
	plantest.With(2, plantest.WithoutPod, func(m *state.Member) { m.NeedsMinor = "" })(&s)
	if image := s.ImageFor(1); image != "quay.io/coreos/etcd:v3.7.3" {
		t.Errorf("%T: version %q image %q", plan.Plan(s), state.VersionFor(s, 1), image)
	}
}

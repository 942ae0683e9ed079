package recovery_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// The survivor 0 has run with the flag, and its Pod is gone for a moment. A person binds the disk of 1 to a claim again. It may have writes that 0 lacks. The
// recovery is cancelled, 0 serves alone because it has forgotten the others, and the cluster grows.
func TestAClaimThatComesBackWhileASurvivorIsForcedIsNotDeleted(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.Consenting, plantest.With(2, plantest.Gone))
	began := metav1.NewTime(plantest.Noon.Add(-time.Hour))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), Voters: s.KnownVoters, StartedAt: &began, ForcedAt: &began}
	for i := range 2 {
		plantest.With(i, plantest.WithoutPod, func(m *state.Member) {
			m.VolumeCreated = plantest.Noon.Add(-100 * time.Hour)
			m.VolumeID = state.VolumeID{Claim: "now", Volume: "pv-" + m.Name}
		})(&s)
	}
	s.KnownVolumes = map[string]state.VolumeID{plantest.NameOf(0): {Claim: "now", Volume: "pv-" + plantest.NameOf(0)}, plantest.NameOf(1): {Claim: "before", Volume: "pv-" + plantest.NameOf(1)}}
	s.Members[1].VolumeCreated = plantest.Noon.Add(-time.Minute)
	step := plan.Plan(s)
	status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{Recovery: s.Recovery}, 1)

	// 0 serves alone, since it was forced before. The cluster has grown with new members.
	after := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent)))
	after.Recovery = status.Recovery
	if after.Recovery == nil {
		t.Fatal("the recovery is forgotten")
	}
	after.Recovery.Step, after.Recovery.Voters = v1beta2.RecoveryGrowing, append(after.Recovery.Voters, plantest.NameOf(3))
	if step := plan.Plan(after); step != (steps.SetAsideVolume{Name: plantest.NameOf(3)}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(after, step).Message)
	}
}

// The same with each answer of the survivor: while it may be a cluster of its own, no other member may start beside it.
func TestNobodyStartsBesideASurvivorThatMayBeAlone(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.Pod(state.PodStarting)), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod))
	began := metav1.NewTime(plantest.Noon.Add(-time.Hour))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: plantest.NameOf(0), Voters: s.KnownVoters, StartedAt: &began, ForcedAt: &began}
	s.Members[1].VolumeCreated, s.Members[2].VolumeCreated = plantest.Noon.Add(-time.Minute), plantest.Noon.Add(-time.Minute)
	// the operator created its Pod again without the flag, for example by dropFlag after an EtcdRestore had begun and failed
	step := plan.Plan(s)
	if _, is := step.(steps.CancelRecovery); is {
		s.Recovery = nil
		next := plan.Plan(s)
		if c, is := next.(steps.CreateMember); is {
			t.Errorf("%s starts beside survivor %s, which may be a cluster of its own", c.Name, plantest.NameOf(0))
		}
	}
}

// The cluster was shrunk to one member after a recovery. The status of the recovery comes back while the node restarts. The spec does not consent.
func TestAnOldStatusForcesNoClusterOfOne(t *testing.T) {
	for name, how := range map[string]func(*state.Member){"without a Pod": plantest.WithoutPod, "its Pod starts": plantest.Pod(state.PodStarting)} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(1), plantest.NoQuorum, plantest.With(0, how))
		monthOld(&s)
		for range 3 {
			step := plan.Plan(s)
			if d, is := step.(steps.DeletePod); is && d.Name == plantest.NameOf(0) {
				plantest.WithoutPod(&s.Members[0])
				continue
			}
			if c, is := step.(steps.CreateMember); is && c.Start == state.StartForce {
				t.Errorf("%s: %s starts with --force-new-cluster without consent, and etcd drops what its log on disk does not show as committed", name, c.Name)
			}
			break
		}
	}
}

// A policy refuses to delete the volume of a failed seed. The cluster serves.
func TestALeftoverOfAFailedSeedHoldsUpNoRecord(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Restored(v1beta2.RestoreFailed))
	plantest.ASeed(plantest.Volume(state.VolumePresent))(&s)
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: plantest.NameOf(0), Voters: []string{plantest.NameOf(0)}}
	step, _ := plan.Choose(s)
	plan.Refuse(&s, step)
	plan.Obstruct(&s, step, steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: "Kubernetes refuses to delete the volume.", Stalled: true})
	after, _ := plan.Choose(s)
	if _, is := after.(steps.CompleteRecovery); !is {
		t.Errorf("the recovery is never complete: %T %s", after, steps.Describe(s, after).Message)
	}
}

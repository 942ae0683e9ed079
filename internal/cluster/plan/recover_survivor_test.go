package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The survivor 0 has run with the flag, and its Pod is gone for a moment. A person binds the disk of 1 to a claim again. It may have writes that 0 lacks. The
// recovery is cancelled, 0 serves alone because it has forgotten the others, and the cluster grows.
func TestAClaimThatComesBackWhileASurvivorIsForcedIsNotDeleted(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, consenting, with(2, gone))
	began := metav1.NewTime(noon.Add(-time.Hour))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), Voters: s.KnownVoters, StartedAt: &began, ForcedAt: &began}
	for i := range 2 {
		with(i, withoutPod, func(m *state.Member) {
			m.VolumeCreated = noon.Add(-100 * time.Hour)
			m.VolumeID = state.VolumeID{Claim: "now", Volume: "pv-" + m.Name}
		})(&s)
	}
	s.KnownVolumes = map[string]state.VolumeID{nameOf(0): {Claim: "now", Volume: "pv-" + nameOf(0)}, nameOf(1): {Claim: "before", Volume: "pv-" + nameOf(1)}}
	s.Members[1].VolumeCreated = noon.Add(-time.Minute)
	step := Plan(s)
	status := NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{Recovery: s.Recovery}, 1)

	// 0 serves alone, since it was forced before. The cluster has grown with new members.
	after := stateWith(formed, members(3), with(3, volume(state.VolumePresent)))
	after.Recovery = status.Recovery
	if after.Recovery == nil {
		t.Fatal("the recovery is forgotten")
	}
	after.Recovery.Step, after.Recovery.Voters = v1beta2.RecoveryGrowing, append(after.Recovery.Voters, nameOf(3))
	if step := Plan(after); step != (steps.SetAsideVolume{Name: nameOf(3)}) {
		t.Errorf("the plan is %T: %s", step, steps.Describe(after, step).Message)
	}
}

// The same with each answer of the survivor: while it may be a cluster of its own, no other member may start beside it.
func TestNobodyStartsBesideASurvivorThatMayBeAlone(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(0, pod(state.PodStarting)), with(1, withoutPod), with(2, withoutPod))
	began := metav1.NewTime(noon.Add(-time.Hour))
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), Voters: s.KnownVoters, StartedAt: &began, ForcedAt: &began}
	s.Members[1].VolumeCreated, s.Members[2].VolumeCreated = noon.Add(-time.Minute), noon.Add(-time.Minute)
	// the operator created its Pod again without the flag, for example by dropFlag after an EtcdRestore had begun and failed
	step := Plan(s)
	if _, is := step.(steps.CancelRecovery); is {
		s.Recovery = nil
		next := Plan(s)
		if c, is := next.(steps.CreateMember); is {
			t.Errorf("%s starts beside survivor %s, which may be a cluster of its own", c.Name, nameOf(0))
		}
	}
}

// The cluster was shrunk to one member after a recovery. The status of the recovery comes back while the node restarts. The spec does not consent.
func TestAnOldStatusForcesNoClusterOfOne(t *testing.T) {
	for name, how := range map[string]func(*state.Member){"without a Pod": withoutPod, "its Pod starts": pod(state.PodStarting)} {
		s := stateWith(formed, members(1), size(1), noQuorum, with(0, how))
		monthOld(&s)
		for range 3 {
			step := Plan(s)
			if d, is := step.(steps.DeletePod); is && d.Name == nameOf(0) {
				withoutPod(&s.Members[0])
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
	s := stateWith(formed, members(3), restored(v1beta2.RestoreFailed))
	aSeed(volume(state.VolumePresent))(&s)
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0)}}
	step, _ := Choose(s)
	Refuse(&s, step)
	Obstruct(&s, step, steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: "Kubernetes refuses to delete the volume.", Stalled: true})
	after, _ := Choose(s)
	if _, is := after.(steps.CompleteRecovery); !is {
		t.Errorf("the recovery is never complete: %T %s", after, steps.Describe(s, after).Message)
	}
}

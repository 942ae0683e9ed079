package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// keeping: the spec keeps replaced volumes for that long.
func keeping(d time.Duration) change {
	return func(s *state.State) {
		if s.Spec.Recovery == nil {
			s.Spec.Recovery = &v1beta2.RecoveryPolicy{}
		}
		s.Spec.Recovery.KeepReplacedVolumes = &metav1.Duration{Duration: d}
	}
}

func TestVolumesThatARestoreReplacedAreKeptForADay(t *testing.T) {
	const old = "example-old"
	recovered := func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	}
	planTests{
		"keeps a volume that was set aside 1 h ago":                                  {stateWith(formed, members(3), aside(old, time.Hour)), steps.Done{}},
		"deletes a volume that was set aside 24 h ago":                               {stateWith(formed, members(3), aside(old, 24*time.Hour)), steps.DeleteVolume{Name: old, Reason: v1beta2.ReasonScaling}},
		"deletes a volume that was set aside 1 h ago if the spec keeps it for 1 min": {stateWith(formed, members(3), aside(old, time.Hour), keeping(time.Minute)), steps.DeleteVolume{Name: old, Reason: v1beta2.ReasonScaling}},
		"keeps a volume that was set aside 48 h ago while a member is starting":      {stateWith(formed, members(3), aside(old, 48*time.Hour), with(1, pod(state.PodStarting))), steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."}},
		"sets aside the volume of a voter that a recovery replaced":                  {stateWith(formed, members(3), recovered, with(3, volume(state.VolumePresent))), steps.SetAsideVolume{Name: nameOf(3)}},
		"sets aside a volume again that has lost its label":                          {stateWith(formed, members(3), with(3, volume(state.VolumePresent), func(m *state.Member) { m.WasSetAside = true })), steps.SetAsideVolume{Name: nameOf(3)}},
		"deletes the volume of a removed member":                                     {stateWith(formed, members(3), with(3, volume(state.VolumePresent))), steps.DeleteVolume{Name: nameOf(3), Reason: v1beta2.ReasonScaling}},
		"does not give a new member the name of a volume that is set aside":          {stateWith(formed, members(2), aside(nameOf(2), time.Hour)), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)}},
	}.run(t)
	s := stateWith(formed, members(3), aside(old, time.Hour))
	s.SetAside = append(s.SetAside, state.SetAside{Name: "gone", Deleting: true})
	want := []v1beta2.ReplacedVolume{{Name: old, KeptUntil: metav1.NewTime(noon.Add(23 * time.Hour))}}
	if diff := cmp.Diff(want, NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{}, 1).ReplacedVolumes); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
}

// A user names a volume that was set aside in an EtcdRestore, which waits because a Pod reads that volume. The operator would delete what the user wants back.
func TestAVolumeThatAnEtcdRestoreNamesIsKept(t *testing.T) {
	const old = "example-old"
	named := func(changes ...func(*v1beta2.EtcdRestore)) state.State {
		s := stateWith(formed, members(3), aside(old, 48*time.Hour))
		waits := func(r *v1beta2.EtcdRestore) {
			r.Status = v1beta2.EtcdRestoreStatus{}
			r.Spec.Volume = &v1beta2.RestoreVolume{ClaimName: old}
		}
		restore.ChooseRestore(&s, []v1beta2.EtcdRestore{restoreOf("back", time.Minute, append([]func(*v1beta2.EtcdRestore){waits}, changes...)...)})
		return s
	}
	other := func(r *v1beta2.EtcdRestore) { r.Spec.EtcdCluster.Name = "other" }
	for name, s := range map[string]state.State{"of this EtcdCluster": named(), "of another EtcdCluster": named(other)} {
		if step, deletes := Plan(s).(steps.DeleteVolume); deletes {
			t.Errorf("an EtcdRestore %s names it: %+v", name, step)
		}
	}
	if step, deletes := Plan(named(other, withCondition(v1beta2.ConditionFailed))).(steps.DeleteVolume); !deletes || step.Name != old {
		t.Errorf("after the restore of another EtcdCluster has ended: %+v", step)
	}
	for _, ended := range []string{v1beta2.ConditionFailed, v1beta2.ConditionComplete} {
		if step, deletes := Plan(named(withCondition(ended))).(steps.DeleteVolume); !deletes || step.Name != old {
			t.Errorf("after the restore has ended (%s): %+v", ended, Plan(named(withCondition(ended))))
		}
	}
}

// Failing storage lost the quorum a second time while the cluster grew again. The operator deleted the volumes from before the first
// loss at once.
func TestVolumesFromBeforeARecoveryAreKeptIfQuorumIsLostAgain(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(0, knows(42, 3)), with(1, gone), with(2, gone), with(3, volume(state.VolumePresent)), consenting, func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	s.Recovery = NewStatus(s, steps.BeginRecovery{Member: nameOf(0)}, nil, v1beta2.EtcdClusterStatus{}, 1).Recovery
	if s.Recovery.Step != v1beta2.RecoveryForcing || len(s.Recovery.Voters) != 4 {
		t.Fatalf("the recovery is %+v", s.Recovery)
	}
	s.Recovery.Step = v1beta2.RecoveryGrowing
	if m, _ := state.Find(s, nameOf(3)); !state.SetsAside(s, m) {
		t.Error("the volume from before the first recovery is deleted")
	}
}

// The message would name data from before the recovery, which a person would not find.
func TestAVolumeFromAfterARecoveryIsNotSetAside(t *testing.T) {
	s := stateWith(formed, members(3), with(3, volume(state.VolumePresent)), func(s *state.State) {
		// Member 3 was lost in a recovery a year ago. A new member got its free name, and was replaced today.
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	if step, aside := Plan(s).(steps.SetAsideVolume); aside {
		t.Errorf("%+v: %s", step, steps.Describe(s, step).Message)
	}
}

// The operator would write the volume every second without end, and the status would not name the webhook.
func TestAVolumeThatAWebhookDoesNotLetBeSetAsideIsHeld(t *testing.T) {
	var repeats Repeats
	s := stateWith(formed, members(3), with(3, volume(state.VolumePresent)), func(s *state.State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	writes := 0
	for range 600 { // a webhook removes the label, so the volume does not change
		s.Held = repeats.Held(1, s.Now)
		step := Plan(s)
		if _, is := step.(steps.SetAsideVolume); is {
			writes++
		}
		repeats.Did(s, step, 1, s.Now)
		s.Now = s.Now.Add(time.Second)
	}
	if writes > 10 {
		t.Errorf("%d writes in 10 minutes, and the recovery never completes", writes)
	}
}

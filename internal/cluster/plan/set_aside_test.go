package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// keeping replaced volumes so long.
func keeping(d time.Duration) change {
	return func(s *State) {
		if s.Spec.Recovery == nil {
			s.Spec.Recovery = &v1beta2.RecoveryPolicy{}
		}
		s.Spec.Recovery.KeepReplacedVolumes = &metav1.Duration{Duration: d}
	}
}

// aside: a volume was set aside so long ago.
func aside(name string, ago time.Duration) change {
	return func(s *State) { s.SetAside = append(s.SetAside, SetAside{Name: name, Since: noon.Add(-ago)}) }
}

func TestVolumesThatARestoreReplacedAreKeptForADay(t *testing.T) {
	const old = "example-old"
	recovered := func(s *State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	}
	planTests{
		"nothing waits for them":                       {state(formed, members(3), aside(old, time.Hour)), Done{}},
		"they are deleted after that":                  {state(formed, members(3), aside(old, 24*time.Hour)), DeleteVolume{Name: old, Reason: v1beta2.ReasonScaling}},
		"they are deleted when the spec asks for it":   {state(formed, members(3), aside(old, time.Hour), keeping(time.Minute)), DeleteVolume{Name: old, Reason: v1beta2.ReasonScaling}},
		"they are kept while the cluster is not well":  {state(formed, members(3), aside(old, 48*time.Hour), with(1, pod(PodStarting))), Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."}},
		"those of a recovery are set aside":            {state(formed, members(3), recovered, with(3, volume(VolumePresent))), SetAsideVolume{Name: nameOf(3)}},
		"one without its label is set aside again":     {state(formed, members(3), with(3, volume(VolumePresent), func(m *Member) { m.WasSetAside = true })), SetAsideVolume{Name: nameOf(3)}},
		"that of a member that was removed is deleted": {state(formed, members(3), with(3, volume(VolumePresent))), DeleteVolume{Name: nameOf(3), Reason: v1beta2.ReasonScaling}},
		"a new member does not get the name of one":    {state(formed, members(2), aside(nameOf(2), time.Hour)), AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)}},
	}.run(t)
	s := state(formed, members(3), aside(old, time.Hour))
	s.SetAside = append(s.SetAside, SetAside{Name: "gone", Deleting: true})
	want := []v1beta2.ReplacedVolume{{Name: old, KeptUntil: metav1.NewTime(noon.Add(23 * time.Hour))}}
	if diff := cmp.Diff(want, NewStatus(s, Done{}, nil, v1beta2.EtcdClusterStatus{}, 1).ReplacedVolumes); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
}

// Storage that dies lost quorum a second time while the cluster grew again. The volumes from before the first time were deleted at once.
func TestVolumesFromBeforeARecoveryAreKeptIfQuorumIsLostAgain(t *testing.T) {
	s := state(formed, members(3), noQuorum, with(0, knows(42, 3)), with(1, gone), with(2, gone), with(3, volume(VolumePresent)), consenting, func(s *State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	s.Recovery = NewStatus(s, BeginRecovery{Member: nameOf(0)}, nil, v1beta2.EtcdClusterStatus{}, 1).Recovery
	if s.Recovery.Step != v1beta2.RecoveryForcing || len(s.Recovery.Voters) != 4 {
		t.Fatalf("the recovery is %+v", s.Recovery)
	}
	s.Recovery.Step = v1beta2.RecoveryGrowing
	if m, _ := s.member(nameOf(3)); !s.setsAside(m) {
		t.Error("the volume from before the first recovery is deleted")
	}
}

// The message would name data from before the recovery, which a person then looks for in vain.
func TestAVolumeFromAfterARecoveryIsNotSetAside(t *testing.T) {
	s := state(formed, members(3), with(3, volume(VolumePresent)), func(s *State) {
		// Member 3 was lost in a recovery a year ago. A new member got its free name, and was replaced today.
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryComplete, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	if step, aside := Plan(s).(SetAsideVolume); aside {
		t.Errorf("%+v: %s", step, Describe(s, step).Message)
	}
}

// The operator would write the volume every second without end, and the status would not name the webhook.
func TestAVolumeThatAWebhookDoesNotLetBeSetAsideIsHeld(t *testing.T) {
	var repeats Repeats
	s := state(formed, members(3), with(3, volume(VolumePresent)), func(s *State) {
		s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
	})
	writes := 0
	for range 600 { // a webhook strips the label: the volume stays as it was
		s.Held = repeats.Held(1, s.Now)
		step := Plan(s)
		if _, is := step.(SetAsideVolume); is {
			writes++
		}
		repeats.Did(s, step, 1, s.Now)
		s.Now = s.Now.Add(time.Second)
	}
	if writes > 10 {
		t.Errorf("%d writes in 10 minutes, and the recovery never completes", writes)
	}
}

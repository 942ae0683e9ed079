package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The volume of a failed seed may not be deleted. Quorum is lost for good, and the user applies another EtcdRestore, or consents to continue
// from the member that is left. Neither begins.
func TestAVolumeOfAFailedSeedBlocksNoWayOut(t *testing.T) {
	for name, s := range map[string]State{
		"another EtcdRestore": state(formed, members(3), stopped, with(0, gone), with(1, gone), with(2, gone), restored(v1beta2.RestoreFailed), asked, func(s *State) { s.Request.UID, s.Request.Name = "uid-next", "next" }),
		"a recovery":          state(formed, members(3), noQuorum, with(0, knows(42, 3)), with(1, gone), with(2, gone), consenting, restored(v1beta2.RestoreFailed)),
	} {
		aSeed(volume(VolumePresent))(&s)
		step, _ := Choose(s)
		s.Refuse(step)
		s.Obstruct(step, Wait{Reason: v1beta2.ReasonObjectRefused, Message: "Kubernetes refuses to delete the volume.", Stalled: true})
		after, _ := Choose(s)
		if !Acts(after) {
			t.Errorf("%s: %s", name, Describe(s, after).Message)
		}
	}
}

// The status advised to delete a Pod "to restart the member", although the data of the member is deleted with it.
func TestAdviceToDeleteAPodSaysThatItHasTheData(t *testing.T) {
	down := func(m *Member) { pod(PodRunning)(m); m.UnreadySince = noon.Add(-20 * time.Minute) }
	for name, s := range map[string]State{
		"emptyDir":        state(formed, members(3), ephemeral, grace(24*time.Hour), with(1, down)),
		"data in the Pod": state(formed, members(3), grace(24*time.Hour), with(1, down, func(m *Member) { m.DataInPod, m.Volume = true, VolumeNone })),
	} {
		if name == "emptyDir" {
			for i := range s.Members {
				s.Members[i].DataInPod = true
			}
		}
		m, _ := s.member(nameOf(1))
		if said := Describe(s, Plan(s)).Message; !s.goesWithPod(m) || strings.Contains(said, "to restart the member") || !strings.Contains(said, "deleted with it") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// No quorum answers. One member's Pod may not be deleted for the larger file system, and another member has no Pod at all.
func TestARefusedRestartForAFileSystemHidesNoOtherStart(t *testing.T) {
	s := state(formed, members(3), noQuorum, with(1, withoutPod), with(2, withoutPod), with(0, pod(PodRunning), unreadyFor(time.Hour), func(m *Member) {
		m.FileSystemPendingSince, m.PodCreated = noon.Add(-30*time.Minute), noon.Add(-2*time.Hour)
	}))
	step, _ := Choose(s)
	s.Refuse(step)
	s.Obstruct(step, Wait{Reason: v1beta2.ReasonObjectRefused, Message: "Refused.", Stalled: true})
	after, _ := Choose(s)
	if _, is := after.(CreateMember); !is {
		t.Errorf("%T %s", after, Describe(s, after).Message)
	}
}

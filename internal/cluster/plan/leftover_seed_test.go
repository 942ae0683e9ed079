package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The volume of a failed seed may not be deleted. Quorum is lost for good, and the user applies another EtcdRestore, or consents to continue
// from the member that is left. Neither begins.
func TestAVolumeOfAFailedSeedBlocksNoWayOut(t *testing.T) {
	for name, s := range map[string]state.State{
		"another EtcdRestore": stateWith(formed, members(3), stopped, with(0, gone), with(1, gone), with(2, gone), restored(v1beta2.RestoreFailed), asked, func(s *state.State) { s.Request.UID, s.Request.Name = "uid-next", "next" }),
		"a recovery":          stateWith(formed, members(3), noQuorum, with(0, knows(42, 3)), with(1, gone), with(2, gone), consenting, restored(v1beta2.RestoreFailed)),
	} {
		aSeed(volume(state.VolumePresent))(&s)
		step, _ := Choose(s)
		Refuse(&s, step)
		Obstruct(&s, step, steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: "Kubernetes refuses to delete the volume.", Stalled: true})
		after, _ := Choose(s)
		if !steps.Acts(after) {
			t.Errorf("%s: %s", name, steps.Describe(s, after).Message)
		}
	}
}

// The status advised to delete a Pod "to restart the member", although the data of the member is deleted with it.
func TestAdviceToDeleteAPodSaysThatItHasTheData(t *testing.T) {
	down := func(m *state.Member) { pod(state.PodRunning)(m); m.UnreadySince = noon.Add(-20 * time.Minute) }
	for name, s := range map[string]state.State{
		"emptyDir":        stateWith(formed, members(3), ephemeral, grace(24*time.Hour), with(1, down)),
		"data in the Pod": stateWith(formed, members(3), grace(24*time.Hour), with(1, down, func(m *state.Member) { m.DataInPod, m.Volume = true, state.VolumeNone })),
	} {
		if name == "emptyDir" {
			for i := range s.Members {
				s.Members[i].DataInPod = true
			}
		}
		m, _ := state.Find(s, nameOf(1))
		if said := steps.Describe(s, Plan(s)).Message; !state.GoesWithPod(s, m) || strings.Contains(said, "to restart the member") || !strings.Contains(said, "deleted with it") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// No quorum answers. One member's Pod may not be deleted for the larger file system, and another member has no Pod at all.
func TestARefusedRestartForAFileSystemHidesNoOtherStart(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, with(1, withoutPod), with(2, withoutPod), with(0, pod(state.PodRunning), unreadyFor(time.Hour), func(m *state.Member) {
		m.FileSystemPendingSince, m.PodCreated = noon.Add(-30*time.Minute), noon.Add(-2*time.Hour)
	}))
	step, _ := Choose(s)
	Refuse(&s, step)
	Obstruct(&s, step, steps.Wait{Reason: v1beta2.ReasonObjectRefused, Message: "Refused.", Stalled: true})
	after, _ := Choose(s)
	if _, is := after.(steps.CreateMember); !is {
		t.Errorf("%T %s", after, steps.Describe(s, after).Message)
	}
}

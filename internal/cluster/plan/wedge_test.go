package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// The tests of this file are sequences of events that an independent reviewer found. Each once lost data, or stopped repairs.

func TestAnAdmissionThatRemovesLabelsDoesNotStopTheRecreationOfAPod(t *testing.T) {
	s := stateWith(formed, members(3), with(0, func(m *state.Member) { m.Unlabelled = true }), with(1, withoutPod))
	var repeats Repeats
	for range repeatsBeforeHold {
		if _, ok := Plan(s).(steps.RestoreLabels); !ok {
			t.Fatalf("Plan returned %+v, want the labels back first", Plan(s))
		}
		repeats.Did(s, Plan(s), 1, s.Now)
	}
	s.Held = repeats.Held(1, s.Now)
	if create, ok := Plan(s).(steps.CreateMember); !ok || create.Name != nameOf(1) {
		t.Errorf("Plan returned %+v, want the Pod of %s", Plan(s), nameOf(1))
	}
	if !Independent(s, "restoreLabels", Plan(s)) || !Unconditional("restoreLabels") {
		t.Error("an error of restoreLabels stops the repairs")
	}
}

// A webhook drops the annotation that lets a new member's Pod start etcd. The operator wrote it ten times a second, and no later rule
// ran.
func TestAPodThatCannotBeReleasedDoesNotStopTheRepairs(t *testing.T) {
	waits := stateWith(formed, members(3), with(3, ahead, addressed, addedAhead), size(4))
	var repeats Repeats
	for range repeatsBeforeHold {
		release, ok := Plan(waits).(steps.ReleaseMember)
		if !ok {
			t.Fatalf("Plan returned %+v, want the Pod to be released", Plan(waits))
		}
		repeats.Did(waits, release, 1, noon)
	}
	waits.Held = repeats.Held(1, noon)
	if wait, ok := Plan(waits).(steps.Wait); !ok || wait.Reason != v1beta2.ReasonChangedByOthers || !wait.Stalled {
		t.Errorf("Plan returned %+v, want to report what reverses the change", Plan(waits))
	}
	waits.Members[1].InService = false
	if step, ok := Plan(waits).(steps.AddToService); !ok {
		t.Errorf("Plan returned %+v, want another repair", step)
	}
	repeats.Did(waits, steps.CreateMember{Name: nameOf(3)}, 1, noon)
	if held := repeats.Held(1, noon); len(held) > 0 {
		t.Errorf("held for another Pod: %+v", held)
	}
	if !Independent(waits, "releaseMember", steps.ReleaseMember{Name: nameOf(3)}) {
		t.Error("a release that the API server refuses stops the repairs")
	}
}

func TestAReplayedRecoveryStopsNoMemberWhileAQuorumAnswers(t *testing.T) {
	s := stateWith(formed, members(3), consenting, forcing(1))
	if _, ok := Plan(s).(steps.CancelRecovery); !ok {
		t.Errorf("Plan returned %+v, want the recovery to be cancelled", Plan(s))
	}
}

func TestNoSecondSeedStartsBesideTheRestoredClusterAfterAnOldStatusWasPutBack(t *testing.T) {
	s := stateWith(formed, restored(v1beta2.RestoreSeeding), members(3), servicesFor(2, seedID), func(s *state.State) {
		s.Incarnation = 1
		for i := range s.Members {
			s.Members[i].Incarnation = 2
		}
	})
	before := s.Restore.Step
	services.CorrectIncarnation(&s)
	if s.Incarnation != 2 || state.RestoreStep(s) != v1beta2.RestoreGrowing {
		t.Errorf("from step %s: incarnation %d, step %s; want 2, Growing", before, s.Incarnation, state.RestoreStep(s))
	}
	if !steps.Irreversible(s, steps.CreateMember{Name: seedName, Start: state.StartSeed}) {
		t.Error("a seed starts without a read past the cache")
	}
}

func TestAClockThatWasAheadDoesNotStopTheRecreationOfAPod(t *testing.T) {
	s := stateWith(formed, members(3), with(1, pod(state.PodEnded)))
	s.PodFailures = []v1beta2.PodFailure{{Name: nameOf(1), Count: 3, LastTime: metav1.NewTime(noon.Add(48 * time.Hour))}}
	if _, ok := Plan(s).(steps.DeletePod); !ok {
		t.Errorf("Plan returned %+v, want the Pod to be recreated", Plan(s))
	}
	s = stateWith(formed, members(2))
	s.LearnerFailures, s.LearnerFailedAt = 9, noon.Add(48*time.Hour)
	if _, ok := Plan(s).(steps.AddLearner); !ok {
		t.Errorf("Plan returned %+v, want a new member", Plan(s))
	}
}

func TestVotersOfAnotherIncarnationDoNotCountAsLost(t *testing.T) {
	s := stateWith(formed, members(3), noQuorum, servicesFor(2, seedID), func(s *state.State) {
		s.KnownVoters = []string{"old-a", "old-b", "old-c"}
		for i := range s.Members {
			s.Members[i].Incarnation = 2
		}
	})
	services.CorrectIncarnation(&s)
	if recovery.QuorumLost(s) {
		t.Error("quorum counts as lost though all members have their data")
	}
	before := []v1beta2.MemberStatus{{Name: "old-a", Role: v1beta2.MemberVoter}}
	status := NewStatus(s, steps.Done{}, nil, v1beta2.EtcdClusterStatus{MemberStatuses: before}, 1)
	for _, m := range status.MemberStatuses {
		if m.Name == "old-a" {
			t.Error("the status keeps a voter of the old incarnation")
		}
	}
}

func TestOldVolumesAreKeptWhileTheClientServiceSelectsTheOldMembers(t *testing.T) {
	old := state.Member{Name: "old", Incarnation: 1, Volume: state.VolumePresent}
	s := stateWith(formed, restored(v1beta2.RestoreGrowing), members(3), func(s *state.State) {
		s.Incarnation, s.ClusterID = 2, seedID
		for i := range s.Members {
			s.Members[i].Incarnation = 2
		}
		s.Members = append(s.Members, old)
		s.SetAside = []state.SetAside{{Name: "aside", Since: noon.Add(-48 * time.Hour)}}
	}, servicesFor(1, oldID))
	Refuse(&s, Plan(s))
	for range 20 {
		step, rule := Choose(s)
		switch step.(type) {
		case steps.SetAsideVolume, steps.DeleteVolume, steps.CompleteRestore:
			t.Fatalf("rule %s returned %+v", rule, step)
		}
		if rule == "" {
			return
		}
		Refuse(&s, step)
	}
}

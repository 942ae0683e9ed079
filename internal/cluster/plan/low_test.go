package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// TestPlanABadSpecCostsNoMemberItsPlace: if a change of the spec cannot work, for example of pod.etcdEnv, the first member that
// gets it fails.
func TestPlanABadSpecCostsNoMemberItsPlace(t *testing.T) {
	failing := func(m *state.Member) {
		blockedBy(v1beta2.ReasonPodFailing)(m)
		unreadyFor(time.Hour)(m)
	}
	const advice = " The members that serve run with an earlier spec, so the operator neither replaces this one nor restarts the others. Correct the spec, or undo the change."
	planTests{
		"keeps a failing member if the others run with an earlier spec": {
			stateWith(formed, members(3), allOutdated, with(1, failing, upToDate)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3)." + advice, Stalled: true},
		},
		"restarts a failing member when the change is undone": {
			stateWith(formed, members(3), with(1, failing, outdated)),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonSettling, Message: "spec.pod or spec.TLS has changed"},
		},
		"replaces a member whose disk was cleared, though the others run with an earlier spec": {
			stateWith(formed, members(3), allOutdated, with(1, failing, upToDate, func(m *state.Member) { m.Empty = true })), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: "it has not served for 5m"},
		},
		"replaces a failing member if the others run with the same spec": {
			stateWith(formed, members(3), with(1, failing)), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: "it has not served for 5m"},
		},
	}.run(t)
}

// TestPlanAVolumeInPhaseLostHasNoData: its PersistentVolume was deleted.
func TestPlanAVolumeInPhaseLostHasNoData(t *testing.T) {
	lost := volume(state.VolumeLost)
	planTests{
		"replaces a member without a Pod whose volume is lost": {
			stateWith(formed, members(3), with(1, withoutPod, lost)), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.LostData},
		},
		"adds a member before it removes one that still runs": {
			stateWith(formed, members(3), with(1, lost)), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"deletes the lost volume of a removed member": {
			stateWith(formed, members(3), with(3, lost)), steps.DeleteVolume{Name: nameOf(3), Reason: v1beta2.ReasonScaling},
		},
	}.run(t)
}

func TestAQuotaBelowTheDatabaseIsReported(t *testing.T) {
	s := stateWith(formed, members(3), with(1, func(m *state.Member) { m.DBSize, m.DBSizeInUse, m.DBQuota = 20480, 20480, 1 }))
	wait, is := Plan(s).(steps.Wait)
	if !is || !wait.Stalled || wait.Reason != v1beta2.ReasonNoSpace || !strings.Contains(wait.Message, "The space quota of member "+nameOf(1)+" is 1, but its database already uses 20Ki.") {
		t.Errorf("the plan is %+v", Plan(s))
	}
	if step := Plan(stateWith(formed, members(3), with(1, func(m *state.Member) { m.DBSize, m.DBSizeInUse, m.DBQuota = 20480, 20480, 2<<30 }))); step != (steps.Done{}) {
		t.Errorf("the plan with a quota of 2 GiB is %+v", step)
	}
}

func TestAStartingMemberSaysWhatKeepsItFromStarting(t *testing.T) {
	s := stateWith(formed, members(3), with(1, pod(state.PodStarting), func(m *state.Member) { m.Unanswered = `its volumes cannot be mounted: secret "x" not found` }))
	if wait, is := Plan(s).(steps.Wait); !is || wait.Message != "Member "+nameOf(1)+` is starting: its volumes cannot be mounted: secret "x" not found.` {
		t.Errorf("the plan is %+v", Plan(s))
	}
}

// A simulated restore waited forever for a failed seed whose PersistentVolume was deleted (SIM_SEED=1, world 212).
func TestTheLostVolumeOfAFailedSeedIsDeleted(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreFailed), func(s *state.State) {
		s.Members = append(s.Members, state.Member{Name: seedName, Incarnation: 2, Volume: state.VolumeLost})
	})
	if step, is := Plan(s).(steps.DeleteVolume); !is || step.Name != seedName {
		t.Errorf("the plan is %+v", Plan(s))
	}
}

// The disks of two of three nodes were cleared. etcd says so itself: both members refuse to start on an empty volume. The user has consented to
// a recovery. The third member has all data.
func TestClearedDisksOfAQuorumAreReportedWithAWayOut(t *testing.T) {
	empty := func(m *state.Member) {
		blockedBy(v1beta2.ReasonPodFailing)(m)
		m.Empty, m.Ran = true, true
		m.UnreadySince = noon.Add(-24 * time.Hour)
	}
	for what, consent := range map[string]change{
		"without consent": func(*state.State) {},
		"with consent":    func(s *state.State) { s.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: "ForceNewCluster"} },
	} {
		s := stateWith(formed, members(3), noQuorum, consent, with(0, empty), with(1, empty), with(2, unreadyFor(24*time.Hour), func(m *state.Member) { m.Serving, m.PodReady = false, false }))
		step, rule := Choose(s)
		said := steps.Describe(s, step).Message
		if !strings.Contains(said, "PersistentVolumeClaim") || !strings.Contains(said, "no data") {
			t.Errorf("%s: rule %s: %T: %s", what, rule, step, said)
		}
	}
}

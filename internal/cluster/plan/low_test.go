package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// TestPlanABadSpecCostsNoMemberItsPlace: if a change of the spec cannot work, for example of pod.etcdEnv, the first member that
// gets it fails.
func TestPlanABadSpecCostsNoMemberItsPlace(t *testing.T) {
	failing := func(m *state.Member) { blockedBy(v1beta2.ReasonPodFailing)(m); unreadyFor(time.Hour)(m) }
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

// A person must know that the data is not there, whether the operator replaces the member, and when.
func TestAMemberWithAnEmptyVolumeIsReportedAsSuch(t *testing.T) {
	empty := func(m *state.Member) { blockedBy(v1beta2.ReasonPodFailing)(m); m.Empty = true }
	fenced := func(s *state.State) { s.Asked.Fence = []string{nameOf(1)} }
	for what, test := range map[string]struct {
		s    state.State
		says string
	}{
		"one that is replaced": {stateWith(formed, members(3), with(1, empty)), "Otherwise the operator replaces the member when it has not served for 5m0s."},
		"one that is fenced":   {stateWith(formed, members(3), with(1, empty), fenced), "remove the member from annotation " + v1beta2.AnnotationFence},
	} {
		wait, is := blockedOf(test.s).(steps.Wait)
		if !is || !strings.Contains(wait.Message, "Its volume has no data") || !strings.Contains(wait.Message, test.says) {
			t.Errorf("%s: %+v", what, wait)
		}
	}
}

func blockedOf(s state.State) steps.Step { return waits.Blocked(s, s.Members) }

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

func TestAMemberOfTheMembershipIsNoOrphanWhateverItsIncarnation(t *testing.T) {
	s := stateWith(formed, members(3), func(s *state.State) { s.Incarnation = 2; servicesFor(2, oldID)(s) })
	for _, m := range s.Members {
		if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); is && step.Name == m.Name {
			t.Errorf("the Pod of member %s is deleted", m.Name)
		}
	}
	withoutPods := stateWith(formed, members(3), with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), func(s *state.State) { s.Incarnation, s.Spec.Size = 2, 3; servicesFor(2, oldID)(s) })
	if step := membership.DeleteOldVolumes(withoutPods); step != nil {
		t.Errorf("a member's volume is deleted: %+v", step)
	}
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

func TestAnotherMajorVersionIsRefusedWithAdviceThatHelps(t *testing.T) {
	want := "The cluster runs 3.6.16, and etcd cannot change its major version. Set spec.version to 3.6.x."
	for _, to := range []string{"2.3.8", "4.0.0"} {
		if got := state.UpgradeRefusal("3.6.16", "3.6.16", to); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}

func TestCertificatesNameTheDomainOfTheKubernetesCluster(t *testing.T) {
	for name, test := range map[string]struct {
		spec, detected, host, certified string
	}{
		"no domain is known":                          {"", "", "", ".cluster.local"},
		"the operator's Pod has another domain":       {"", "corp.example", "", ".corp.example"},
		"the spec has a domain with a leading dot":    {".corp.example", "other", ".corp.example", ".corp.example"},
		"the spec has a domain without a leading dot": {"corp.example.", "", ".corp.example", ".corp.example"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateWith(policy(v1beta2.PodPolicy{ClusterDomain: test.spec}))
			s.ClusterDomain = test.detected
			if got := state.Host(s, "m"); got != "m.example.ns.svc"+test.host {
				t.Errorf("the host is %s", got)
			}
			if names := state.CertificateRequest(s, state.Usages[0]).DNSNames; names[1] != "*.example.ns.svc"+test.certified {
				t.Errorf("the names are %v", names)
			}
		})
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

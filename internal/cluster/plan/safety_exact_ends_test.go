package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// givenExact: the old members of three are fenced at revision 50, and restore-operator has been asked for the exact snapshot for a minute.
func givenExact(changes ...change) state.State {
	return stateWith(append([]change{formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSwitching), exact, aSeed(serving), fencedAt(50), safetyAsked(time.Minute), recordedExact}, changes...)...)
}

// recordedExact: the status has the policy since the switch began.
func recordedExact(s *state.State) { s.Restore.SafetySnapshotPolicy = v1beta2.SafetySnapshotExact }

// twoLost: two of three old Pods are gone, the third answers without a quorum and reports the fence.
func twoLost(p func(*state.Member)) change {
	return func(s *state.State) {
		quorumIsLost(s)
		with(1, p)(s)
		with(2, p)(s)
	}
}

func isAdopted(s state.State) bool { _, is := Plan(s).(steps.AdoptSeed); return is }

// A person deletes the EtcdRestore in the 15 minutes behind the fence, because two Pods are gone and so the snapshot cannot be taken. All volumes
// are there. The seed must not take over: nothing was stopped by the operator, and no snapshot has the writes.
func TestACancelledExactRestoreDoesNotSwitchWithoutItsSnapshot(t *testing.T) {
	for name, p := range map[string]func(*state.Member){"evicted": withoutPod, "on dead nodes": pod(state.PodDeleting)} {
		for why, c := range map[string]change{
			"deleted":         func(s *state.State) { s.Request = nil },
			"failed":          func(s *state.State) { s.Request, s.RestoreFailed = nil, true },
			"lost its status": func(s *state.State) { s.Request, s.RestoreUnverified = nil, true },
		} {
			t.Run(name+", "+why, func(t *testing.T) {
				s := givenExact(twoLost(p), c)
				if !restore.OldMayContinue(s) {
					t.Fatal("the old members have their data")
				}
				if isAdopted(s) && restore.InTheWay(s, Plan(s)) == "" { // what confirmOld asks past the cache
					st := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1)
					t.Errorf("the seed takes over without the exact snapshot: %#v, status %q, safety %q, unsaved %v", Plan(s), st.Restore.Message, st.Restore.SafetySnapshot, st.Restore.UnsavedRevisions)
				}
			})
		}
	}
}

// Two of three emptyDir members are lost with their nodes while restore-operator saves. The last one has every acknowledged write, and does not answer
// for one pass. The seed takes over, and the last copy is stopped: nothing was saved, and the EtcdRestore asked for an exact snapshot.
func TestTheLastCopyIsNotGivenUpUnsaved(t *testing.T) {
	silentForAPass := func(s *state.State) {
		for i := range s.Members[:3] {
			s.Members[i].Alarms = nil
		}
		with(0, silent)(s)
	}
	for name, s := range map[string]state.State{
		"behind the fence, emptyDir":        givenExact(twoLost(gone), ephemeral, silentForAPass),
		"behind the fence, volumes":         givenExact(twoLost(gone), silentForAPass),
		"killed before the fence, emptyDir": givenExact(twoLost(gone), ephemeral, func(s *state.State) { silentForAPass(s); s.Restore.LastRevision = 0; s.Restore.SeedReadyTime = nil }),
	} {
		if isAdopted(s) {
			t.Errorf("%s: %#v", name, Plan(s))
		}
	}
}

// The wait ends, and the message says that the old members continue with their data. Two of three have none.
func TestTheEndOfTheWaitDoesNotLie(t *testing.T) {
	s := givenExact(twoLost(gone), safetyAsked(16*time.Minute))
	if f, is := Plan(s).(steps.FailRestore); !is || strings.Contains(f.Message, restore.OldContinue) || !strings.Contains(f.Message, "Only 1 of 3 voters") {
		t.Errorf("it says %q", f.Message)
	}
}

// another: the EtcdRestore under way is not asked for any more, and another verified one of the cluster waits. ChooseRestore takes it as the request.
func another(policy v1beta2.SafetySnapshotPolicy) change {
	return func(s *state.State) {
		r := *s.Request
		r.Name, r.UID, r.Safety, r.Saved = "another", "uid-another", policy, nil
		s.Request = &r
	}
}

// A person replaces the exact EtcdRestore by another one, as the messages advise ("Create an EtcdRestore with another name", "with safetySnapshot:
// Required"), while two of three old Pods are gone behind the fence. All three volumes are there. The policy of the other one counts for the seed of the first.
func TestAnotherEtcdRestoreDoesNotLiftExact(t *testing.T) {
	for name, p := range map[string]func(*state.Member){"evicted": withoutPod, "on dead nodes": pod(state.PodDeleting)} {
		for _, policy := range []v1beta2.SafetySnapshotPolicy{"", v1beta2.SafetySnapshotIfPossible, v1beta2.SafetySnapshotRequired, v1beta2.SafetySnapshotExact} {
			for why, c := range map[string]change{
				"deleted":         func(*state.State) {},
				"failed":          func(s *state.State) { s.RestoreFailed = true },
				"lost its status": func(s *state.State) { s.RestoreUnverified = true },
			} {
				t.Run(name+", "+why+", the other is "+string(policy), func(t *testing.T) {
					s := givenExact(twoLost(p), another(policy), c)
					if !restore.OldMayContinue(s) {
						t.Fatal("the old members have their data")
					}
					if isAdopted(s) && restore.InTheWay(s, Plan(s)) == "" {
						t.Errorf("the seed takes over unsaved: %#v", Plan(s))
					}
				})
			}
		}
	}
}

// ... by ChooseRestore itself.
func TestChooseRestoreLiftsExact(t *testing.T) {
	s := givenExact(twoLost(withoutPod))
	s.Request = nil
	b := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "another", UID: "uid-another", CreationTimestamp: metav1.NewTime(noon)}}
	b.Spec.EtcdCluster.Name = s.Name
	b.Status.Snapshot, b.Status.Source = &v1beta2.Snapshot{}, &v1beta2.RestoreSource{}
	b.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionVerified, Status: metav1.ConditionTrue}}
	restore.ChooseRestore(&s, []v1beta2.EtcdRestore{b})
	if s.Request == nil || s.Request.UID != "uid-another" {
		t.Fatalf("%+v", s.Request)
	}
	if isAdopted(s) && restore.InTheWay(s, Plan(s)) == "" {
		t.Errorf("the seed takes over unsaved: %#v", Plan(s))
	}
}

// The operator before began the switch, or a rollback pruned the policy. The present operator waits behind the fence, and the EtcdRestore is deleted.
func TestUpgradeBehindTheFenceRecordsThePolicy(t *testing.T) {
	s := givenExact()
	s.Restore.SafetySnapshotPolicy = ""
	status := statusOf(s)
	status.Restore = s.Restore.DeepCopy()
	for range 3 { // passes of the present operator
		st := NewStatus(s, Plan(s), nil, status, 1)
		status = st
		s.Restore = status.Restore.DeepCopy()
	}
	twoLost(withoutPod)(&s)
	s.Request = nil
	if isAdopted(s) && restore.InTheWay(s, Plan(s)) == "" {
		t.Errorf("the seed takes over unsaved: %#v", Plan(s))
	}
}

// Without volumes the last Pod has the only copy of what clients wrote since the backup. After the takeover it is stopped.
func TestTheLastPodIsGivenUpForAnotherEtcdRestore(t *testing.T) {
	s := givenExact(twoLost(gone), ephemeral, another(v1beta2.SafetySnapshotRequired))
	if !isAdopted(s) || restore.InTheWay(s, Plan(s)) != "" {
		return
	}
	t.Errorf("the seed takes over unsaved: %#v", Plan(s))
	status := statusOf(s)
	status.Restore = s.Restore.DeepCopy()
	status = NewStatus(s, Plan(s), nil, status, 1)
	s.Restore, s.ClusterID, s.Incarnation = status.Restore.DeepCopy(), status.ClusterID, status.Incarnation
	s.MembershipKnown = true
	for i := range s.Members {
		if seed := &s.Members[i]; seed.Incarnation == 2 {
			seed.InMembership, seed.Started, seed.Leader, seed.InService = true, true, true, true
		}
	}
	s.Services.ClientIncarnation = 2
	for i := range s.Members[:3] {
		s.Members[i].InMembership = false
	}
	if step, is := membership.RemoveOrphanPods(s).(steps.DeletePod); is && step.Name == nameOf(0) {
		t.Errorf("after that, the last Pod with the old data is deleted: %+v", step)
	}
}

package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// givenExact: the old members of three are fenced at revision 50, and restore-operator has been asked for the exact snapshot for a minute.
func givenExact(changes ...change) State {
	return state(append([]change{formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSwitching), exact, aSeed(serving), fencedAt(50), safetyAsked(time.Minute), recordedExact}, changes...)...)
}

// recordedExact: the status has the policy since the switch began.
func recordedExact(s *State) { s.Restore.SafetySnapshotPolicy = v1beta2.SafetySnapshotExact }

// twoLost: two of three old Pods are gone, the third answers without a quorum and reports the fence.
func twoLost(p func(*Member)) change {
	return func(s *State) {
		lostQuorum(s)
		with(1, p)(s)
		with(2, p)(s)
	}
}

func isAdopted(s State) bool { _, is := Plan(s).(AdoptSeed); return is }

// A person deletes the EtcdRestore in the 15 minutes behind the fence, because two Pods are gone and so the snapshot cannot be taken. All volumes
// are there. The seed must not take over: nothing was stopped by the operator, and no snapshot has the writes.
func TestACancelledExactRestoreDoesNotSwitchWithoutItsSnapshot(t *testing.T) {
	for name, p := range map[string]func(*Member){"evicted": withoutPod, "on dead nodes": pod(PodDeleting)} {
		for why, c := range map[string]change{
			"deleted":         func(s *State) { s.Request = nil },
			"failed":          func(s *State) { s.Request, s.RestoreFailed = nil, true },
			"lost its status": func(s *State) { s.Request, s.RestoreUnverified = nil, true },
		} {
			t.Run(name+", "+why, func(t *testing.T) {
				s := givenExact(twoLost(p), c)
				if !s.oldMayContinue() {
					t.Fatal("the old members have their data")
				}
				if isAdopted(s) && s.InTheWay(Plan(s)) == "" { // what confirmOld asks past the cache
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
	silentForAPass := func(s *State) {
		for i := range s.Members[:3] {
			s.Members[i].Alarms = nil
		}
		with(0, silent)(s)
	}
	for name, s := range map[string]State{
		"behind the fence, emptyDir":        givenExact(twoLost(gone), ephemeral, silentForAPass),
		"behind the fence, volumes":         givenExact(twoLost(gone), silentForAPass),
		"killed before the fence, emptyDir": givenExact(twoLost(gone), ephemeral, func(s *State) { silentForAPass(s); s.Restore.LastRevision = 0; s.Restore.SeedReadyTime = nil }),
	} {
		if isAdopted(s) {
			t.Errorf("%s: %#v", name, Plan(s))
		}
	}
}

// The wait ends, and the message says that the old members continue with their data. Two of three have none.
func TestTheEndOfTheWaitDoesNotLie(t *testing.T) {
	s := givenExact(twoLost(gone), safetyAsked(16*time.Minute))
	if f, is := Plan(s).(FailRestore); !is || strings.Contains(f.Message, oldContinue) || !strings.Contains(f.Message, "Only 1 of 3 voters") {
		t.Errorf("it says %q", f.Message)
	}
}

package plan

import (
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// recovering: the cluster is at size again, and the members 0 and 3 were its voters before.
func recovering(s *state.State) {
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryGrowing, Member: nameOf(0), Voters: []string{nameOf(0), nameOf(3)}}
}

// leftover: the volume of a member that etcd does not have any more.
func leftover(m *state.Member) {
	*m = state.Member{Name: m.Name, Incarnation: m.Incarnation, Volume: state.VolumePresent}
}

// ends has a state for each step with which something ends or is recorded as done, and what is not as the step promises in it. In each of
// these states the plan must not return the step, also if the API server refuses all that comes before it.
var ends = map[string][]struct {
	promise string
	changes []change
}{
	"CompleteRecovery": {
		{"the volumes from before are set aside", []change{formed, members(3), recovering, with(3, leftover)}},
		{"a volume whose Pod object is left is set aside", []change{formed, members(3), recovering, with(3, leftover, pod(state.PodEnded))}},
		{"the cluster has its size", []change{formed, members(2), recovering}},
		{"all members serve", []change{formed, members(3), recovering, with(1, silent)}},
	},
	"CompleteRestore": {
		{"the volumes from before are set aside", []change{formed, members(3), restored(v1beta2.RestoreGrowing), with(3, leftover, func(m *state.Member) { m.Incarnation = 0 })}},
		{"the old Pods are gone", []change{formed, members(3), restored(v1beta2.RestoreGrowing), with(3, leftover, pod(state.PodDeleting), func(m *state.Member) { m.Incarnation = 0 })}},
		{"clients reach the restored members", []change{formed, members(3), restored(v1beta2.RestoreGrowing), servicesFor(0, "")}},
		{"the cluster has its size", []change{formed, members(2), restored(v1beta2.RestoreGrowing)}},
	},
	"Hibernating": {
		{"no Pod runs", []change{formed, members(3), hibernating, with(0, withoutPod), with(1, withoutPod)}},
		{"no Pod is stopping", []change{formed, members(3), hibernating, noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, pod(state.PodDeleting))}},
		{"the only copy is not stopped", []change{formed, members(3), hibernating, with(0, volume(state.VolumeLost))}},
	},
	"Done": {
		{"the cluster has its size", []change{formed, members(2)}},
		{"all members serve", []change{formed, members(3), with(1, silent)}},
		{"no old volume is left", []change{formed, members(3), with(3, leftover)}},
	},
	"AdoptSeed": {
		{"the seed serves", []change{formed, members(3), stopped, restored(v1beta2.RestoreSwitching), asked}},
		{"the old members are stopped", []change{formed, members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(serving)}},
	},
	"BeginSwitch": {
		{"the seed serves", []change{formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(pod(state.PodStarting))}},
	},
	"BeginBootstrap": {
		{"all volumes exist", []change{func(s *state.State) {
			initial(3)(s)
			s.Members = s.Members[:2]
			s.Members[0].Pod, s.Members[1].Pod = state.PodNone, state.PodNone
		}}},
	},
	"RecordFormed": {
		{"a member serves", []change{initial(3), begun}},
	},
	"RecordForcing": {
		{"the other members are gone", []change{formed, members(3), noQuorum, with(1, gone), consenting, forcing(0), with(0, withoutPod), with(2, pod(state.PodDeleting))}},
	},
	"RecordForced": {
		{"the survivor serves alone", []change{formed, members(3), noQuorum, with(1, gone), with(2, gone), consenting, forcing(0), with(0, forced)}},
	},
	"RecordPromotion": {
		{"the learner answers", []change{formed, members(3), with(2, func(m *state.Member) { m.Learner, m.Answers, m.Serving = true, false, false })}},
	},
	"RecordVersionChange": {
		{"the data is converted", []change{formed, members(3), ofVersion("3.5.20"), func(s *state.State) {
			s.VersionChange = &v1beta2.VersionChangeStatus{To: "3.5", Step: v1beta2.VersionChangePreparing}
			for i := range s.Members {
				s.Members[i].StorageVersion, s.Members[i].Downgrade = "3.6.0", "3.5.0"
			}
		}}},
	},
	"EndDefragmentation": {
		{"all members that are due are defragmented", []change{formed, members(3), database(100, 10), nightly(24 * time.Hour)}},
	},
	"RemovePreviousCA": {
		{"no member trusts the previous CA only", []change{formed, members(3), managed, certs(func(c *state.Certificates) { c.CA.Exists, c.CA.Previous, c.Trust = true, true, "new" })}},
	},
	"BeginRecovery": {
		{"the volumes of the others are gone", []change{formed, members(3), noQuorum, consenting, with(0, knows(7, 1)), with(1, gone)}},
	},
	"BeginRemoval": {
		{"the removal is wanted", []change{formed, members(4), size(4)}},
	},
	"DisarmAlarm": {
		{"the cause is removed", []change{formed, members(3), database(100*mi, 90*mi), full}},
	},
}

// notEnds are steps of that kind which promise nothing of the world: they begin something, or record that it was given up.
var notEnds = []string{"BeginRestore", "ReturnToSeeding", "CancelRecovery", "CancelDowngrade", "FailRestore", "AwaitSafetySnapshot", "AwaitResize"}

// isEnd matches the names of steps after which the status claims something.
var isEnd = regexp.MustCompile(`^(Complete|Record|End|Adopt|Begin|Hibernating|Done|Disarm|RemovePrevious|Cancel|Fail|Return|Await)`)

func TestEveryStepThatEndsSomethingHasAPromise(t *testing.T) {
	for _, name := range stepTypes(t) {
		if _, listed := ends[name]; isEnd.MatchString(name) && !listed && !slices.Contains(notEnds, name) {
			t.Errorf("ends has no state in which %s would be wrong", name)
		}
	}
}

// TestNoStepEndsBeforeWhatItPromisesIsSeen: a recovery was recorded as complete although the API server had refused to set the old volumes
// aside, and in the next pass the operator deleted them, the only copies of the data from before.
func TestNoStepEndsBeforeWhatItPromisesIsSeen(t *testing.T) {
	for name, cases := range ends {
		for _, test := range cases {
			t.Run(name+": "+test.promise, func(t *testing.T) {
				s := stateWith(test.changes...)
				for range 5 {
					step, rule := Choose(s)
					if record, is := step.(steps.RecordVersionChange); is && record.Step == v1beta2.VersionChangePreparing {
						return
					}
					if reflect.TypeOf(step).Name() == name {
						t.Fatalf("%s returns %+v", rule, step)
					}
					if name == "Done" || !Independent(s, rule, step) {
						return // NoteRefused adds what was refused to the status of a cluster that is done
					}
					Refuse(&s, step)
				}
			})
		}
	}
}

func TestARecoveryWaitsForAVolumeThatCannotBeSetAside(t *testing.T) {
	s := stateWith(formed, members(3), recovering, with(3, leftover))
	first := Plan(s)
	if first != (steps.SetAsideVolume{Name: nameOf(3)}) {
		t.Fatalf("the plan is %+v", first)
	}
	Refuse(&s, first)
	wait, is := Plan(s).(steps.Wait)
	if !is || !wait.Stalled {
		t.Fatalf("after the refusal the plan is %T %+v", Plan(s), Plan(s))
	}
	status := NewStatus(s, wait, nil, v1beta2.EtcdClusterStatus{}, 1)
	next := stateWith(formed, members(3), with(3, leftover), func(s *state.State) { s.Recovery = status.Recovery })
	if step := Plan(next); step != first {
		t.Errorf("in the next pass the plan is %T %+v", step, step)
	}
}

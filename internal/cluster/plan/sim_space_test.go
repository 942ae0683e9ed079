package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/run"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	mib       = 1 << 20
	quotaSize = 100 * mib
)

// crowded returns a condition with a database file and a size in use, in MiB, and a quota of 100 MiB. Half of what is in use is
// history.
func crowded(c condition, file, used int64) condition {
	return condition{fmt.Sprintf("%s, %d/%d MiB", c.name, used, file), func(m *state.Member) {
		c.set(m)
		m.DBSize, m.DBSizeInUse, m.DBQuota, m.Revision = file*mib, used*mib, quotaSize, 5000
		m.Alarms = []etcd.Alarm{{Kind: etcd.AlarmNoSpace, Member: 1}}
	}}
}

// TestEveryFullClusterGetsRoomOrSaysWhatToDo starts with every mixture of members that have used up their quota.
func TestEveryFullClusterGetsRoomOrSaysWhatToDo(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	var all []condition
	for _, c := range []condition{ready, outdatedReady, missing, lost, crashing, learner} {
		for _, size := range [][2]int64{{100, 95}, {100, 40}, {60, 60}} {
			all = append(all, crowded(c, size[0], size[1]))
		}
	}
	for n := 1; n <= 3; n++ {
		for _, size := range []int{1, 3} {
			for _, action := range []v1beta2.NoSpaceAction{v1beta2.NoSpaceCompact, v1beta2.NoSpaceDefragment, v1beta2.NoSpaceWait} {
				multisets(all, n, func(conditions []condition) {
					s := formed(size, true, conditions)
					s.Spec.NoSpace = &v1beta2.NoSpacePolicy{Action: action, KeepRevisions: ptr.To[int64](10)}
					s.Spec.Defragmentation = &v1beta2.DefragmentationPolicy{FreePercent: ptr.To[int32](50)}
					count.run(observe.From(s), fmt.Sprintf("size %d, action %s: %s", size, action, words(conditions)))
				})
			}
		}
	}
	count.tell()
	if count.ends[v1beta2.ReasonReady] == 0 || count.ends[v1beta2.ReasonNoSpace] == 0 {
		t.Error("nobody got room, or nobody was told what to do: nothing was tested")
	}
}

// TestEveryFullClusterBefore36GetsTheQuotaOfItsSpec starts with members that do not report their quota, after the spec has
// raised it. If the alarm were disarmed before the roll, the next write would raise it again, and no roll would begin.
func TestEveryFullClusterBefore36GetsTheQuotaOfItsSpec(t *testing.T) {
	t.Parallel()
	const before = "3.5.35"
	count := tally{t: t}
	var all []condition
	for _, c := range []condition{outdatedReady, missing, lost, learner} {
		for _, size := range [][2]int64{{100, 95}, {100, 40}} {
			all = append(all, crowded(c, size[0], size[1]))
		}
	}
	for n := 1; n <= 3; n++ {
		multisets(all, n, func(conditions []condition) {
			s := formed(n, true, conditions)
			s.Spec.Version, s.KnownVersion = before, before
			s.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: resource.NewQuantity(2*quotaSize, resource.BinarySI)}
			for i := range s.Members {
				m := &s.Members[i]
				m.DBQuota = 0
				if m.Pod != state.PodNone {
					m.PodImage, m.Version, m.StorageVersion, m.Outdated = s.Spec.Image(), before, "", true
				}
			}
			count.run(observe.From(s), "raised quota: "+words(conditions))
		})
	}
	count.tell()
	if count.ends[v1beta2.ReasonReady] == 0 {
		t.Error("no cluster got room: nothing was tested")
	}
}

// accusedOf returns a condition with a hash and a CORRUPT alarm for the first member.
func accusedOf(c condition, hash string) condition {
	return condition{c.name + ", " + hash, func(m *state.Member) {
		c.set(m)
		m.Hash, m.PodReady = hash, false
		m.Alarms = []etcd.Alarm{{Kind: etcd.AlarmCorrupt, Member: 1}}
	}}
}

// TestEveryCorruptMemberIsReplacedOrNobodyIs starts with every mixture of members whose data differs.
func TestEveryCorruptMemberIsReplacedOrNobodyIs(t *testing.T) {
	t.Parallel()
	count := tally{t: t}
	var all []condition
	for _, c := range []condition{ready, missing, lost, crashing, learner} {
		all = append(all, accusedOf(c, "right"), accusedOf(c, "wrong"))
	}
	for n := 1; n <= 5; n++ {
		multisets(all, n, func(conditions []condition) {
			for _, first := range []int{0, n - 1} {
				conditions := slices.Clone(conditions)
				conditions[0], conditions[first] = conditions[first], conditions[0]
				count.run(observe.From(formed(n, true, conditions)), words(conditions))
			}
		})
	}
	count.tell()
	if count.ends[v1beta2.ReasonReady] == 0 || count.ends[v1beta2.ReasonDataCorrupt] == 0 {
		t.Error("nobody was replaced, or nobody was told what to do: nothing was tested")
	}
}

// removeAccused removes the member that an alarm names.
func removeAccused(s state.State) steps.Step {
	for _, m := range s.Current() {
		for _, alarm := range m.Alarms {
			if alarm.Member == m.ID && m.InMembership {
				return steps.RemoveMember{ID: m.ID, Name: m.Name, Cause: "its data is corrupt"}
			}
		}
	}
	return disarmAtOnce(s)
}

// defragmentAny defragments the first member with free space, even if it leads or another one is down.
func defragmentAny(s state.State) steps.Step {
	for _, m := range s.Current() {
		if m.Serving && m.DBSize > m.DBSizeInUse {
			return steps.DefragmentMember{Name: m.Name, Reason: v1beta2.ReasonNoSpace}
		}
	}
	return nil
}

// moveCrowded defragments the first member with free space. If that member leads, it moves leadership first.
func moveCrowded(s state.State) steps.Step {
	members := s.Current()
	for i, m := range members {
		switch {
		case !m.Serving || m.DBSize == m.DBSizeInUse:
		case m.Leader:
			to := members[(i+1)%len(members)]
			return steps.MoveLeader{From: m.Name, To: to.ID, Name: to.Name}
		default:
			return steps.DefragmentMember{Name: m.Name, Reason: v1beta2.ReasonNoSpace}
		}
	}
	return nil
}

func disarmAtOnce(s state.State) steps.Step {
	for _, m := range s.Current() {
		for _, alarm := range m.Alarms {
			return steps.DisarmAlarm{Alarm: alarm, Reason: v1beta2.ReasonNoSpace}
		}
	}
	return nil
}

func TestPlantedBugsAboutSpaceAreCaught(t *testing.T) {
	for name, test := range map[string]struct {
		bug       plan.Change
		members   []condition
		invariant string
	}{
		"2: a member is defragmented while another is down": {
			plan.Before("reclaimSpace", "waitUntilHealthy").Then(plan.Instead("reclaimSpace", defragmentAny)), []condition{crowded(ready, 100, 40), crowded(ready, 100, 40), crowded(crashing, 100, 40)}, "2",
		},
		"1: a member is defragmented while another is added": {
			plan.Before("reclaimSpace", "promoteLearner").Then(plan.Instead("reclaimSpace", defragmentAny)), []condition{crowded(ready, 100, 40), crowded(ready, 100, 40), crowded(learner, 100, 40)}, "1",
		},
		"7: the leader is defragmented before leadership moves": {
			plan.Instead("reclaimSpace", defragmentAny), slices.Repeat([]condition{crowded(ready, 100, 40)}, 3), "7",
		},
		"7: leadership moves before the others are defragmented": {
			plan.Instead("reclaimSpace", moveCrowded), slices.Repeat([]condition{crowded(ready, 100, 40)}, 3), "7",
		},
		"9: the alarm is disarmed although there is no room": {
			plan.Instead("reclaimSpace", disarmAtOnce), slices.Repeat([]condition{crowded(ready, 100, 95)}, 3), "9",
		},
		"4: the member that the alarm names is removed although its data is right": {
			plan.Instead("corruptAlarm", removeAccused), []condition{accusedOf(ready, "right"), accusedOf(ready, "wrong"), accusedOf(ready, "right")}, "4",
		},
		"9: the alarm is disarmed although the data differs": {
			plan.Instead("corruptAlarm", disarmAtOnce), []condition{accusedOf(ready, "wrong"), accusedOf(ready, "right"), accusedOf(ready, "right")}, "9",
		},
		"6: the alarm remains on although there is room": {
			plan.Without("reclaimSpace").Then(plan.Without("outOfSpace")), slices.Repeat([]condition{crowded(ready, 60, 60)}, 3), "6",
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() *world.World {
				s := formed(3, true, test.members)
				s.Members[0].Leader = true
				return observe.From(s)
			}
			sound := start()
			run.Run(sound, plan.Plan)
			if len(sound.Violations) > 0 {
				t.Fatalf("without the bug: %v", sound.Violations)
			}
			w := start()
			run.Run(w, plan.PlanWith(test.bug))
			if !slices.ContainsFunc(w.Violations, func(v string) bool { return v[:11] == "invariant "+test.invariant }) {
				t.Errorf("the bug is not caught: %v", w.Violations)
			}
		})
	}
}

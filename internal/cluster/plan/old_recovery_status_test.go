package plan

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// oldForcing: 0 was forced alone two hours ago, and serves alone or with 3 and 4 since. The status of the minute before that is there again, all Pods
// are gone, and the marked volumes of 1 and 2 are there.
func oldForcing(added bool) (state.State, v1beta2.EtcdClusterStatus) {
	at := metav1.NewTime(noon.Add(-2 * time.Hour).Truncate(time.Second))
	s := fiveBefore()
	for i := range s.Members {
		with(i, withoutPod)(&s)
		if i > 2 {
			s.Members[i].VolumeCreated = at.Add(time.Hour)
		}
	}
	for _, i := range []int{1, 2} {
		s.Members[i].Recovered, s.Members[i].RecoveredAt = true, at.Time
	}
	for _, i := range []int{3, 4} {
		delete(s.KnownVolumes, nameOf(i))
	}
	s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)}
	s.Recovery = &v1beta2.ClusterRecoveryStatus{Step: v1beta2.RecoveryForcing, Member: nameOf(0), RaftIndex: 42, Voters: slices.Clone(s.KnownVoters), StartedAt: &at}
	status := statusOf(s)
	status.MemberStatuses = status.MemberStatuses[:3]
	status.Recovery = s.Recovery.DeepCopy()
	if !added {
		s.Members = s.Members[:3]
	}
	return s, status
}

func passes(t *testing.T, s *state.State, status *v1beta2.EtcdClusterStatus, passes int) {
	t.Helper()
	do := doer(s, status)
	for range passes {
		step := Plan(*s)
		t.Logf("%T %s", step, steps.Describe(*s, step).Message)
		if create, is := step.(steps.CreateMember); is {
			for i := range s.Members {
				if s.Members[i].Name == create.Name {
					if i == 1 || i == 2 {
						t.Errorf("%s starts", create.Name)
					}
					with(i, pod(state.PodStarting))(s)
				}
			}
			continue
		}
		do(step)
		s.Restore = status.Restore.DeepCopy()
	}
}

// The cluster of 0, 1 and 2 recovered from 0 at t1, without 1 and 2, whose claims were marked. It grew with 3 and 4. The status comes back that the API
// server had at t1, before the survivor was forced (an API backup of that minute), while all nodes restart and the volumes of 1 and 2 are there again.
// The operator sees that the status is an old one, and cancels the recovery. What it records with that must not make the marks void: they are all that
// tells that the cluster went on without 1 and 2.
func TestAnOldStatusOfARecoveryDoesNotStartWhatItWentOnWithout(t *testing.T) {
	for name, test := range map[string]struct{ running bool }{"all nodes restart": {false}, "the others run": {true}} {
		t.Run(name, func(t *testing.T) {
			s, status := oldForcing(true)
			if test.running {
				for _, i := range []int{0, 3, 4} {
					with(i, pod(state.PodStarting))(&s)
				}
			}
			do := doer(&s, &status)
			cancel, is := Plan(s).(steps.CancelRecovery)
			if !is {
				t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
			}
			t.Log(cancel.Message)
			do(cancel)
			after := s
			after.Members = slices.Clone(s.Members)
			started := starts(after)
			if slices.Contains(started, nameOf(1)) && slices.Contains(started, nameOf(2)) {
				t.Errorf("1 and 2 start, a quorum of the membership from before the recovery: %v", started)
			}
			// They are a quorum, and serve.
			for i := range after.Members {
				after.Members[i].InMembership, after.Members[i].Started = false, false
			}
			with(1, voter)(&after)
			with(2, voter)(&after)
			with(0, voter)(&after)
			after.Members[1].Leader, after.MembershipKnown = true, true
			for range 12 {
				step := Plan(after)
				t.Logf("%T %+v", step, step)
				var j int
				at := func(name string) int {
					return slices.IndexFunc(after.Members, func(m state.Member) bool { return m.Name == name })
				}
				switch step := step.(type) {
				case steps.DeletePod:
					j = at(step.Name)
					withoutPod(&after.Members[j])
				case steps.ApplyBudget:
					after.Budget = budgetOf(state.MinAvailable(after))
				case steps.UnmarkVolume:
					after.Members[at(step.Name)].Recovered = false
				case steps.SetAsideVolume:
					j = at(step.Name)
					after.Members = slices.Delete(after.Members, j, j+1)
				case steps.DeleteVolume:
					t.Errorf("the volume of %s is deleted, with what clients wrote since the recovery", step.Name)
					j = at(step.Name)
					after.Members = slices.Delete(after.Members, j, j+1)
				default:
					return
				}
			}
		})
	}
}

// As above, but the status is from the seconds in which the survivor was forced. The survivor is asked, and knows the members that were added since.
func TestAnOldStatusOfAForcedSurvivorDoesNotStartWhatItWentOnWithout(t *testing.T) {
	s, status := oldForcing(true)
	s.Recovery.ForcedAt = &metav1.Time{Time: s.Recovery.StartedAt.Add(time.Minute)}
	status.Recovery = s.Recovery.DeepCopy()
	do := doer(&s, &status)
	with(0, pod(state.PodRunning), knows(42, 3))(&s)
	s.Members[0].Knows = []etcd.Member{{Name: nameOf(0)}, {Name: nameOf(3)}, {Name: nameOf(4)}}
	cancel, is := Plan(s).(steps.CancelRecovery)
	if !is {
		t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	do(cancel)
	s.KnownVoters = []string{nameOf(0), nameOf(1), nameOf(2)}
	if started := starts(s); slices.Contains(started, nameOf(1)) || slices.Contains(started, nameOf(2)) {
		t.Errorf("%v start beside what knows 3 and 4", started)
	}
}

// An old status of a recovery, as in TestAnOldStatusOfARecoveryDoesNotStartWhatItWentOnWithout, and a person applies an EtcdRestore.
func TestAnOldStatusOfARecoveryAndARestore(t *testing.T) {
	for name, request := range map[string]bool{"without EtcdRestore": false, "with EtcdRestore": true} {
		t.Run(name, func(t *testing.T) {
			s, status := oldForcing(true)
			if request {
				asked(&s)
			}
			do := doer(&s, &status)
			for range 4 {
				step := Plan(s)
				t.Logf("%T %s", step, steps.Describe(s, step).Message)
				if c, is := step.(steps.CreateMember); is {
					if c.Name == nameOf(1) || c.Name == nameOf(2) {
						t.Errorf("%s starts", c.Name)
					}
					break
				}
				do(step)
			}
			if started := starts(s); slices.Contains(started, nameOf(1)) && slices.Contains(started, nameOf(2)) {
				t.Errorf("1 and 2 start, a quorum of the membership from before the recovery: %v", started)
			}
		})
	}
}

// The recovered cluster has not added a member yet, because no node has room.
func TestAnOldStatusAndARestoreBeforeTheClusterGrew(t *testing.T) {
	for name, request := range map[string]bool{"without EtcdRestore": false, "with EtcdRestore": true} {
		t.Run(name, func(t *testing.T) {
			s, status := oldForcing(false)
			if request {
				asked(&s)
			}
			passes(t, &s, &status, 8)
		})
	}
}

// The volumes of 3 and 4 are seen only after the restore has begun, which remembered the recovery. The cancellation makes the marks void.
func TestARestoreThatBeganMakesTheMarksVoid(t *testing.T) {
	s, status := oldForcing(true)
	asked(&s)
	status.Restore = &v1beta2.ClusterRestoreStatus{Name: "back", UID: "uid-back", Step: v1beta2.RestoreSeeding, Incarnation: 2}
	recordBegunRestore(&status, s, steps.BeginRestore{Restore: *status.Restore})
	s.Restore, s.LastRecovery = status.Restore.DeepCopy(), status.LastRecovery.DeepCopy()
	passes(t, &s, &status, 8)
}

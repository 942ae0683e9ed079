package plan

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/certificates"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// oldForcingNamesReused: a person gives 1 and 2 up by deleting their claims, and the cluster recovers from 0. Their names are free, so it grows with new
// members 1 and 2 on new claims. Two hours later the status of the minute before the survivor was forced is there again (an API backup).
// All of that status is what NewStatus wrote then, and the State is what NewState reads from it.
func oldForcingNamesReused(t *testing.T, p func(*state.Member)) (state.State, v1beta2.EtcdClusterStatus) {
	t.Helper()
	before := stateWith(formed, members(3), recorded) // all served
	status := NewStatus(before, Plan(before), nil, v1beta2.EtcdClusterStatus{}, 1)
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, gone), with(2, gone))
	s.Now = noon.Add(-2 * time.Hour)
	for i := range s.Members {
		s.Members[i].VolumeCreated = noon.Add(-24 * time.Hour)
		s.Members[i].UnreadySince = noon.Add(-3 * time.Hour)
	}
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(0) {
		t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	status = NewStatus(s, begin, nil, status, 1)
	if marked := volumes.ReplacedByRecovery(s); len(marked) != 0 {
		t.Fatalf("there are no claims to mark: %v", marked)
	}
	// What NewState reads from that status today.
	cluster := &v1beta2.EtcdCluster{Spec: s.Spec, Status: status}
	cluster.Namespace, cluster.Name, cluster.UID = s.Namespace, s.Name, s.UID
	now := state.NewState(cluster)
	now.Now, now.Services, now.Budget, now.Members = noon, s.Services, s.Budget, s.Members
	now.Services.ClientClusterID = now.ClusterID
	for i := range now.Members {
		m := &now.Members[i]
		onVolume(m)
		p(m)
		m.ID, m.InMembership, m.Started = 0, false, false
		m.Volume = state.VolumePresent
		if i > 0 { // the member that was added an hour after the recovery
			m.VolumeCreated = noon.Add(-time.Hour)
			m.VolumeID = state.VolumeID{Claim: types.UID("new-claim-of-" + nameOf(i)), Volume: "new-pv-of-" + nameOf(i)}
		}
	}
	return now, status
}

// The voters 1 and 2 of today have acknowledged writes that 0 does not have (0 was slow, or down). All Pods are gone or starting, for example because
// the nodes restart, or because the cluster hibernated. The operator must see that the status is an old one: the claims of 1 and 2 are younger than the
// recovery. But they are not the claims that the old status has, so HoldsData says that 1 and 2 have no data, and addedSince skips them.
func TestAnOldStatusForcesNoSurvivorBesideMembersThatReuseNames(t *testing.T) {
	for name, p := range map[string]func(*state.Member){"Pods gone": withoutPod, "Pods starting": pod(state.PodStarting), "Pods running": pod(state.PodRunning)} {
		t.Run(name, func(t *testing.T) {
			s, status := oldForcingNamesReused(t, p)
			do := doer(&s, &status)
			for range 12 {
				step := Plan(s)
				t.Logf("%T %+v: %s", step, step, steps.Describe(s, step).Message)
				switch step := step.(type) {
				case steps.CreateMember:
					if step.Start == state.StartForce {
						t.Errorf("%s starts with --force-new-cluster, although 1 and 2 of today have data. After that: %v are marked and set aside", step.Name, volumes.ReplacedByRecovery(s))
						return
					}
					for i := range s.Members {
						if s.Members[i].Name == step.Name {
							with(i, pod(state.PodStarting))(&s)
						}
					}
				case steps.DeletePod:
					for i := range s.Members {
						if s.Members[i].Name == step.Name {
							with(i, withoutPod)(&s)
						}
					}
				default:
					do(step)
				}
			}
		})
	}
}

// The members were fenced at revision 50, and restore-operator saved exactly that. cluster-operator did not run for some minutes, and a person disarmed all
// alarms (etcdctl alarm disarm), because clients could not write. They wrote up to 60. Then two of three nodes fail. The third member answers without
// a quorum: it reports revision 60 and no alarm. All three volumes are there.
func TestAnExactTakeoverSeesTheWritesOfAMemberWithoutAQuorum(t *testing.T) {
	for name, p := range map[string]func(*state.Member){"evicted": withoutPod, "stopping": pod(state.PodDeleting)} {
		t.Run(name, func(t *testing.T) {
			s := givenExact(twoLost(p), savedUpTo(50, 0))
			for i := range s.Members[:3] {
				s.Members[i].Alarms = nil
			}
			with(0, func(m *state.Member) { m.Answers, m.Revision, m.Version, m.ClusterID = true, 60, "3.6.16", 0xaa })(&s)
			if !restore.OldMayContinue(s) {
				t.Fatal("the old members have their data")
			}
			if isAdopted(s) && restore.InTheWay(s, Plan(s)) == "" {
				st := NewStatus(s, Plan(s), nil, v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1)
				t.Errorf("the seed takes over although a member has revision 60 and the exact snapshot ends at 50; the status says %q, unsaved %v", steps.Describe(s, Plan(s)).Message, *st.Restore.UnsavedRevisions)
			}
		})
	}
}

// The seed has taken over in the status, and the next pass has yet to change the client Service. The cluster is paused in that second, or a Secret is missing. Clients still reach
// the fenced old members.
func TestTheStatusSaysThatClientsCannotWriteBeforeTheServiceChanges(t *testing.T) {
	for name, c := range map[string]change{
		"paused": func(s *state.State) { s.Spec.Paused = true },
		"Secret": func(s *state.State) { s.SecretProblem = "Secret x does not exist." },
	} {
		s := givenExact(savedUpTo(50, 0))
		adopt, is := Plan(s).(steps.AdoptSeed)
		if !is {
			t.Fatalf("%T", Plan(s))
		}
		st := NewStatus(s, adopt, nil, v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1)
		s.Restore, s.ClusterID, s.Incarnation = st.Restore.DeepCopy(), st.ClusterID, st.Incarnation
		c(&s)
		if said := steps.Describe(s, Plan(s)).Message; !strings.Contains(said, "refuse writes") {
			t.Errorf("%s: the old members refuse writes, the Service selects them, and the status says: %s", name, said)
		}
	}
}

// The clock of the operator is six hours behind that of the API server, and restore-operator does not run. Behind the fence of an exact restore,
// clients cannot write. The wait ends after 15 minutes nevertheless.
func TestClocksThatDifferDoNotProlongTheFence(t *testing.T) {
	s := givenExact()
	s.Restore.SeedReadyTime = nil
	endsWithin(t, s, 30*time.Minute, func(step steps.Step) bool { _, is := step.(steps.FailRestore); return is })
}

// The same for a safety snapshot that is not exact: the members serve, and the restore waits.
func TestClocksThatDifferDoNotProlongTheWaitForASafetySnapshot(t *testing.T) {
	s := stateWith(formed, members(3), storage("3.6.0"), restored(v1beta2.RestoreSeeding), asked, aSeed(serving))
	s.Request.Safety = v1beta2.SafetySnapshotIfPossible
	endsWithin(t, s, 45*time.Minute, func(step steps.Step) bool { _, is := step.(steps.BeginSwitch); return is })
}

// endsWithin asks for a safety snapshot while the clocks differ by six hours, and fails the test if the wait for it lasts longer than limit.
func endsWithin(t *testing.T, s state.State, limit time.Duration, ends func(steps.Step) bool) {
	t.Helper()
	s.ServerAhead = 6 * time.Hour
	status := statusOf(s)
	status.Restore = s.Restore.DeepCopy()
	if _, is := Plan(s).(steps.AwaitSafetySnapshot); !is {
		t.Fatalf("%T", Plan(s))
	}
	status = NewStatus(s, Plan(s), nil, status, 1)
	var seen clock.Seen
	for waited := time.Duration(0); waited < 7*time.Hour; waited += 5 * time.Minute {
		s.Restore = status.Restore.DeepCopy()
		s.Now, s.SeedReadySince = noon.Add(waited), s.Restore.SeedReadyTime.Time
		certificates.CorrectTimes(&s, &seen)
		step := Plan(s)
		if ends(step) {
			if waited > limit {
				t.Errorf("the wait took %s", waited)
			}
			return
		}
		status = NewStatus(s, step, nil, status, 1)
	}
	t.Error("the wait does not end")
}

// As with names that are used again, but the cluster was growing to five when it lost its quorum: the claims of 3 and 4 were there, unused. After the recovery, the operator adds 3
// and 4 with these claims (prepareMembers). They are older than the recovery, and not marked.
func TestAnOldStatusForcesNoSurvivorBesideMembersOnPreparedVolumes(t *testing.T) {
	before := stateWith(formed, members(3), size(5), recorded)
	status := NewStatus(before, Plan(before), nil, v1beta2.EtcdClusterStatus{}, 1)
	unused := func(m *state.Member) {
		m.Volume, m.VolumeUnused, m.VolumeCreated = state.VolumePresent, true, noon.Add(-4*time.Hour)
	}
	s := stateWith(formed, members(3), size(5), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, gone), with(2, gone), with(3, withoutPod, unused), with(4, withoutPod, unused))
	s.Now = noon.Add(-2 * time.Hour)
	for i := range s.Members {
		s.Members[i].UnreadySince = noon.Add(-3 * time.Hour)
	}
	s.Members[0].VolumeCreated = noon.Add(-24 * time.Hour)
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(0) {
		t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	status = NewStatus(s, begin, nil, status, 1)
	s.Recovery = status.Recovery.DeepCopy()
	if marked := volumes.ReplacedByRecovery(s); len(marked) != 0 {
		t.Fatalf("there are no claims to mark: %v", marked)
	}
	// The recovered cluster of 0 creates the Pods of 3 and 4 again, on these claims.
	grows := stateWith(formed, members(1), size(5), recorded, with(1, withoutPod, unused), with(2, withoutPod, unused))
	grows.Members[1].Name, grows.Members[2].Name = nameOf(3), nameOf(4)
	if create, is := membership.PrepareMembers(grows).(steps.CreateMember); !is || create.Name != nameOf(3) {
		t.Fatalf("%+v", membership.PrepareMembers(grows))
	}
	cluster := &v1beta2.EtcdCluster{Spec: s.Spec, Status: status}
	cluster.Namespace, cluster.Name, cluster.UID = s.Namespace, s.Name, s.UID
	now := state.NewState(cluster)
	now.Now, now.Services, now.Budget = noon, s.Services, s.Budget
	for _, i := range []int{0, 3, 4} {
		m := s.Members[i]
		m.ID, m.InMembership, m.Started, m.VolumeUnused = 0, false, false, false
		withoutPod(&m)
		now.Members = append(now.Members, m)
	}
	if !now.HoldsData(now.Members[1]) || !now.HoldsData(now.Members[2]) {
		t.Fatal("3 and 4 have data")
	}
	do := doer(&now, &status)
	for range 6 {
		step := Plan(now)
		t.Logf("%T %+v: %s", step, step, steps.Describe(now, step).Message)
		if create, is := step.(steps.CreateMember); is {
			if create.Start == state.StartForce {
				t.Errorf("%s starts with --force-new-cluster, although 3 and 4 of today have data", create.Name)
			}
			return
		}
		do(step)
	}
}

// As with names that are used again, but the clock of the operator was a day ahead of that of the API server when the recovery began, and the operator knew it. So the recovery seems to be
// younger than the claims of 3 and 4, which were added an hour later.
func TestAnOldStatusOfAClockThatWasAheadForcesNoSurvivor(t *testing.T) {
	before := stateWith(formed, members(3), recorded)
	status := NewStatus(before, Plan(before), nil, v1beta2.EtcdClusterStatus{}, 1)
	s := stateWith(formed, members(3), noQuorum, consenting, recorded, with(0, knows(42, 3)), with(1, gone), with(2, gone))
	s.Now, s.ServerAhead = noon.Add(22*time.Hour), -24*time.Hour // it is two hours before noon
	s.Members[0].VolumeCreated = noon.Add(-24 * time.Hour)
	for i := range s.Members {
		s.Members[i].UnreadySince = noon.Add(20 * time.Hour)
	}
	begin, is := Plan(s).(steps.BeginRecovery)
	if !is || begin.Member != nameOf(0) {
		t.Fatalf("%T %s", Plan(s), steps.Describe(s, Plan(s)).Message)
	}
	status = NewStatus(s, begin, nil, status, 1)
	cluster := &v1beta2.EtcdCluster{Spec: s.Spec, Status: status}
	cluster.Namespace, cluster.Name, cluster.UID = s.Namespace, s.Name, s.UID
	now := state.NewState(cluster)
	now.Now, now.Services, now.Budget = noon, s.Services, s.Budget
	for _, i := range []int{0, 3, 4} {
		m := state.Member{Name: nameOf(i), Incarnation: 1, Volume: state.VolumePresent, VolumeCreated: noon.Add(-time.Hour)}
		if i == 0 {
			m = s.Members[0]
			m.ID, m.InMembership = 0, false
			withoutPod(&m)
		}
		now.Members = append(now.Members, m)
	}
	do := doer(&now, &status)
	for range 6 {
		step := Plan(now)
		t.Logf("%T %+v: %s", step, step, steps.Describe(now, step).Message)
		if create, is := step.(steps.CreateMember); is {
			if create.Start == state.StartForce {
				t.Errorf("%s starts with --force-new-cluster, although 3 and 4 of today have data; the recovery began at %s", create.Name, now.Recovery.StartedAt)
			}
			return
		}
		do(step)
	}
}

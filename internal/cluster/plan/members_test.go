package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

const consent = "Recover the lost volumes, or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. To continue from a snapshot, apply an EtcdRestore."

const isDead = "it has not served for 5m"

// loading: the startup probe of its Pod still runs, and has ten minutes.
func loading(m *Member) { m.StartupBudget = 10 * time.Minute }

func TestPlanHeal(t *testing.T) {
	planTests{
		"starts a member on its volume when its Pod is gone": {
			state(formed, members(3), with(1, withoutPod)), CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin},
		},
		"starts a member again that was evicted": {
			state(formed, members(3), with(1, pod(PodEnded))),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonMemberDown, Message: "it has ended: "},
		},
		"starts every member that has data when all Pods are gone": {
			state(formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod)),
			CreateMember{Name: nameOf(0), Incarnation: 1, Start: StartRejoin},
		},
		"does not start a member whose volume is being deleted": {
			state(formed, members(3), with(1, withoutPod, volume(VolumeDeleting))), RemoveMember{ID: 2, Name: nameOf(1), Cause: LostData},
		},
		"removes a member whose volume is gone": {
			state(formed, members(3), with(1, gone)), RemoveMember{ID: 2, Name: nameOf(1), Cause: LostData},
		},
		"removes a member with emptyDir whose Pod is gone": {
			state(formed, members(3), ephemeral, with(1, gone)), RemoveMember{ID: 2, Name: nameOf(1), Cause: LostData},
		},
		"removes an initial member that lost its volume before it said that it started": {
			state(formed, members(3), with(1, gone, func(m *Member) { m.Started = false })), RemoveMember{ID: 2, Name: nameOf(1), Cause: LostData},
		},
		"lets an initial member join that never started and has its volume": {
			state(formed, members(3), with(1, withoutPod, func(m *Member) { m.Started = false })),
			CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartJoin},
		},
		"removes a learner whose data is gone": {
			state(formed, members(3), with(3, learner, gone), size(4)), RemoveMember{ID: 4, Name: nameOf(3), Cause: LostData},
		},
		"starts a learner that was just added": {
			state(formed, members(2), with(2, justAdded)), CreateMember{Name: nameOf(2), Incarnation: 1, Start: StartJoin},
		},
		"lets the learner have its vote before it removes a member that is lost": {
			state(formed, members(3), with(1, gone), with(3, learner), promoting(3), size(4)), PromoteLearner{ID: 4, Name: nameOf(3)},
		},
		"takes back a learner that cannot start before it removes a member that is lost": {
			state(formed, members(3), with(1, gone), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4)), size(4)),
			RemoveMember{ID: 4, Name: nameOf(3), Cause: makesWay},
		},
		"stops the Pod of a member that was removed": {
			state(formed, members(3), with(3, voter, removed)),
			DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonScaling, Message: "it is no longer a member of the cluster"},
		},
		"waits for that Pod to be gone": {
			state(formed, members(3), with(3, voter, removed, pod(PodDeleting))),
			Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + nameOf(3) + " was removed, and its Pod is stopping."},
		},
		"deletes the volume of a removed member when the cluster is whole": {
			state(formed, members(3), with(3, volume(VolumePresent))), DeleteVolume{Name: nameOf(3), Reason: v1beta2.ReasonScaling},
		},
		"keeps the volume of a removed member while another is down": {
			state(formed, members(3), with(2, pod(PodStarting)), with(3, volume(VolumePresent))),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(2) + " is starting."},
		},
		"deletes a Pod that waits for a volume that is gone": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodUnschedulable), volume(VolumeNone))),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonMemberDown, Message: "the volume that it waits for does not exist"},
		},
		"makes a Pod again that came up as if it had data, and has yet to join": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), func(m *Member) { m.Started = false })),
			DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonScaling, Message: "the member has not joined the cluster yet"},
		},
		"makes a Pod again that was to join a membership that has changed": {
			state(formed, members(2), with(2, justAdded, blockedBy(v1beta2.ReasonPodFailing), func(m *Member) { m.Start, m.Peers = StartJoin, nameOf(2) })),
			DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonScaling, Message: "the membership has changed since the Pod was created to join it"},
		},
		"keeps a Pod with emptyDir that may hold data, whatever its image": {
			state(formed, members(3), ephemeral, with(1, blockedBy(v1beta2.ReasonPodFailing), withImage("3.6.15"), silent, volume(VolumeNone))),
			Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"exposes a member that votes": {
			state(formed, members(3), with(1, func(m *Member) { m.InService = false })), AddToService{Name: nameOf(1)},
		},
		"waits while a member stops": {
			state(formed, members(3), with(1, pod(PodDeleting))), Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " is stopping."},
		},
		"asks a person when a host does not confirm that a Pod has stopped": {
			state(formed, members(3), with(1, pod(PodDeleting), func(m *Member) { m.GoneBy = noon.Add(-time.Minute) })),
			Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(1)), Stalled: true},
		},
		"waits for a member that does not answer": {
			state(formed, members(3), with(1, pod(PodRunning), func(m *Member) { m.Unanswered = "timeout" })),
			Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " does not serve: timeout."},
		},
		"replaces a member that hangs for long": {
			state(formed, members(3), with(1, pod(PodRunning), unreadyFor(time.Hour))), RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"does not replace a member that still reads a large database": {
			state(formed, members(3), with(1, pod(PodRunning), unreadyFor(10*time.Minute), loading)),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting: it reads its database. It may take up to 10m0s for that."},
		},
		"replaces a member that takes longer to start than it may": {
			state(formed, members(3), with(1, pod(PodRunning), unreadyFor(16*time.Minute), loading)), RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"waits for members that still read their databases, and does not call quorum lost": {
			state(formed, members(3), noQuorum, with(0, silent, unreadyFor(10*time.Minute), loading), with(1, silent, unreadyFor(10*time.Minute)), with(2, silent, unreadyFor(10*time.Minute))),
			Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"replaces a member that keeps ending for long": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), unreadyFor(time.Hour))), RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"replaces a member whose host is gone for long": {
			state(formed, members(3), with(1, pod(PodDeleting), unreadyFor(time.Hour))), RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"replaces a learner whose host is gone for long": {
			state(formed, members(3), with(3, learner, pod(PodDeleting), unreadyFor(time.Hour)), size(4)), RemoveMember{ID: 4, Name: nameOf(3), Cause: isDead},
		},
		"replaces no member for an image that the next one would not get either": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonImageUnavailable), unreadyFor(time.Hour))),
			Wait{Reason: v1beta2.ReasonImageUnavailable, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"replaces no learner that cannot start": {
			state(formed, members(3), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4), unreadyFor(time.Hour)), size(4)),
			Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(3) + " does not run: why. Quorum holds (3 of 3).", Stalled: true},
		},
		"replaces a member after the grace that the spec says": {
			state(formed, members(3), grace(time.Minute), with(1, pod(PodRunning), unreadyFor(61*time.Second))),
			RemoveMember{ID: 2, Name: nameOf(1), Cause: "it has not served for 60s"},
		},
		"replaces nobody before the grace that the spec says": {
			state(formed, members(3), grace(time.Hour), with(1, pod(PodStarting), unreadyFor(4*time.Minute))),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"replaces a member that no host takes any more, for its volume may be tied to a host that is gone": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodUnschedulable), unreadyFor(time.Hour))), RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"replaces a learner that ran and that no host takes any more": {
			state(formed, members(3), with(3, learner, blockedBy(v1beta2.ReasonPodUnschedulable), unreadyFor(time.Hour)), size(4)),
			RemoveMember{ID: 4, Name: nameOf(3), Cause: isDead},
		},
		"gives up a learner that cannot start when a voter is dead": {
			state(formed, members(4), with(1, pod(PodRunning), unreadyFor(time.Hour)), with(4, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(5), unreadyFor(time.Minute)), size(5)),
			RemoveMember{ID: 5, Name: nameOf(4), Cause: makesWay},
		},
		"replaces a member whose data is corrupt at once": {
			state(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), damaged)), RemoveMember{ID: 2, Name: nameOf(1), Cause: CorruptData},
		},
		"replaces a learner whose data is corrupt at once": {
			state(formed, members(3), with(3, learner, blockedBy(v1beta2.ReasonPodFailing), damaged), size(4)), RemoveMember{ID: 4, Name: nameOf(3), Cause: CorruptData},
		},
		"keeps a member with corrupt data where it takes quorum along": {
			state(formed, members(4), with(1, blockedBy(v1beta2.ReasonPodFailing), damaged), with(2, pod(PodRunning)), with(3, pod(PodRunning)), size(4)),
			Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Member " + nameOf(1) + " must be replaced, because its data is corrupt. Removing it would leave no quorum, so the operator waits. Recover the members that are down.", Stalled: true},
		},
		"forgets the Pod of a removed member whose host does not confirm that it stopped": {
			state(formed, members(3), with(3, onVolume, pod(PodDeleting), func(m *Member) { m.GoneBy = noon.Add(-time.Minute) })), ForceDeletePod{Name: nameOf(3)},
		},
		"waits for the Pod of a removed member that is stopping": {
			state(formed, members(3), with(3, onVolume, pod(PodDeleting), func(m *Member) { m.GoneBy = noon.Add(time.Second) })),
			Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + nameOf(3) + " was removed, and its Pod is stopping."},
		},
		"replaces nobody for a moment": {
			state(formed, members(3), with(1, pod(PodStarting), unreadyFor(4*time.Minute))),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
	}.run(t)
}

func TestPlanQuorumLost(t *testing.T) {
	planTests{
		"touches nothing when most voters have lost their data": {
			state(formed, members(3), noQuorum, with(1, gone), with(2, gone)),
			Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. " + consent, Stalled: true},
		},
		"counts no volume of a member that never voted": {
			state(formed, members(3), noQuorum, with(1, gone), with(2, gone), with(3, volume(VolumePresent), pod(PodRunning))),
			Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. " + consent, Stalled: true},
		},
		"waits while members that have data come up": {
			state(formed, members(3), noQuorum, with(0, pod(PodStarting)), with(1, pod(PodStarting)), with(2, gone)),
			Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"names a member that has data and cannot start": {
			state(formed, members(3), noQuorum, with(1, blockedBy(v1beta2.ReasonPodUnschedulable)), with(2, gone)),
			Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(1) + " does not run: why. No quorum answers, so etcd accepts no writes.", Stalled: true},
		},
		"says so when those who have data run for long and do not agree": {
			state(formed, members(2), noQuorum, with(0, unreadyFor(time.Minute)), with(1, unreadyFor(time.Minute))),
			Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + nameOf(0) + ", " + nameOf(1) +
				". The operator removes nothing. Recover these members. If some of them are lost for good, delete their PersistentVolumeClaims. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"names the way out while a restored cluster grows": {
			state(formed, restored(v1beta2.RestoreGrowing), members(1), noQuorum, with(0, gone)),
			Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 0 of 1 voters have their data, and 1 are needed. etcd accepts no writes. The operator removes nothing. To continue from a snapshot, delete EtcdRestore back and apply another.", Stalled: true},
		},
	}.run(t)
}

func TestPlanScale(t *testing.T) {
	planTests{
		"adds one learner": {
			state(formed, members(3), size(4)), AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"adds a voter where etcd has no learners": {
			state(formed, members(3), size(4), promoting(3), ofVersion("3.3.27"), func(s *State) {
				for i := range s.Members {
					withImage("3.3.27")(&s.Members[i])
				}
			}),
			AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3), Voter: true},
		},
		"takes a name that nothing carries": {
			state(formed, members(2), with(2, volume(VolumePresent))), AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"waits for a learner that is catching up": {
			state(formed, members(3), with(3, learner, pod(PodStarting)), size(5)),
			Wait{Reason: v1beta2.ReasonScaling, Requeue: requeueAddress, Message: "Member " + nameOf(3) + " is catching up with the leader."},
		},
		"promotes a learner that answers": {
			state(formed, members(3), with(3, learner), promoting(3), size(4)), PromoteLearner{ID: 4, Name: nameOf(3)},
		},
		"adds nobody while a member is down": {
			state(formed, members(3), with(1, pod(PodStarting)), size(5)),
			Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"adds nobody without a StorageClass": {
			state(formed, members(2), noClass), Wait{Reason: v1beta2.ReasonNoStorageClass, Message: noClassMessage, Stalled: true},
		},
		"takes back the learner on a change of mind": {
			state(formed, members(3), with(3, learner)), RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"takes back the learner that was just added on a change of mind": {
			state(formed, members(3), with(3, justAdded, pod(PodStarting))), RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"removes the newest": {
			state(formed, members(5)), RemoveMember{ID: 5, Name: nameOf(4)},
		},
		"removes the newest but one when the newest leads": {
			state(formed, members(5), with(0, func(m *Member) { m.Leader = false }), with(4, func(m *Member) { m.Leader = true })),
			RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"removes one that does not serve first": {
			state(formed, members(5), with(1, pod(PodRunning))), RemoveMember{ID: 2, Name: nameOf(1)},
		},
		"removes one whose volume is being deleted first": {
			state(formed, members(5), with(1, volume(VolumeDeleting))), RemoveMember{ID: 2, Name: nameOf(1), Cause: volumeDeleted},
		},
		"removes nobody until it is known who leads": {
			state(formed, members(5), with(0, func(m *Member) { m.Leader = false })),
			Wait{Reason: v1beta2.ReasonScaling, Message: "No member is the leader. The operator never removes the leader, so it waits until the members have elected one."},
		},
		"stops growing on a change of mind and shrinks again": {
			state(formed, members(4)), RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"adds a member in place of one whose volume is being deleted": {
			state(formed, members(3), with(1, volume(VolumeDeleting))), AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"moves leadership from a member whose volume is being deleted": {
			state(formed, members(4), with(0, volume(VolumeDeleting))), MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"never shrinks to nothing": {
			state(formed, members(1), size(0)), Done{},
		},
	}.run(t)
}

// A quota may refuse the volume of a new member. A voter that has its data must run by then, because quorum may depend
// on it.
func TestMembersWithDataStartFirst(t *testing.T) {
	// The learner sorts before the voter. A quota refuses its volume.
	s := state(formed, members(3), size(4), with(3, justAdded), with(2, withoutPod))
	slices.Reverse(s.Members)
	if create, creates := Plan(s).(CreateMember); !creates || create.Name != nameOf(2) {
		t.Errorf("voter %s has data and does not run, and the plan is %+v", nameOf(2), Plan(s))
	}
}

// With the largest timeout an election takes up to 100 s. Without this, a message advises to delete volumes meanwhile.
func TestAnElectionWithALongTimeoutIsNoLostQuorum(t *testing.T) {
	for name, c := range map[string]change{
		"spec.etcd": func(s *State) {
			s.Spec.Etcd = &v1beta2.EtcdPolicy{ElectionTimeout: &metav1.Duration{Duration: 50 * time.Second}}
		},
		"a variable": policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_ELECTION_TIMEOUT", Value: "50000"}}}),
	} {
		s := state(formed, members(3), noQuorum, c)
		for i := range s.Members {
			s.Members[i].UnreadySince, s.Members[i].Unanswered = noon.Add(-100*time.Second), "it cannot reach a quorum"
		}
		if step, is := Plan(s).(Wait); !is || step.Reason == v1beta2.ReasonQuorumLost {
			t.Errorf("%s: %+v", name, Plan(s))
		}
		s.Now = s.Now.Add(2 * time.Minute)
		if step, is := Plan(s).(Wait); !is || step.Reason != v1beta2.ReasonQuorumLost {
			t.Errorf("%s, after the election: %+v", name, Plan(s))
		}
	}
}

package plan

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

const consent = "Bring back the same volumes, not copies: a copy can lack writes that etcd has acknowledged. Or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. To continue from a snapshot, apply an EtcdRestore."

const isDead = "it has not served for 5m"

// loading: the startup probe of its Pod still runs, and may take ten minutes.
func loading(m *state.Member) { m.StartupBudget = 10 * time.Minute }

func TestPlanHeal(t *testing.T) {
	planTests{
		"starts a member on its volume if its Pod is missing": {
			stateWith(formed, members(3), with(1, withoutPod)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"deletes the ended Pod of a member that was evicted": {
			stateWith(formed, members(3), with(1, pod(state.PodEnded))),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonMemberDown, Message: "it has ended: "},
		},
		"starts the members that have data if all Pods are missing": {
			stateWith(formed, members(3), noQuorum, with(0, withoutPod), with(1, withoutPod), with(2, withoutPod)),
			steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
		"removes a member without a Pod if its volume is being deleted": {
			stateWith(formed, members(3), with(1, withoutPod, volume(state.VolumeDeleting))), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.LostData},
		},
		"removes a member whose Pod and volume are missing": {
			stateWith(formed, members(3), with(1, gone)), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.LostData},
		},
		"removes a member with emptyDir whose Pod is missing": {
			stateWith(formed, members(3), ephemeral, with(1, gone)), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.LostData},
		},
		"removes an initial member that lost its volume before it reported its start": {
			stateWith(formed, members(3), with(1, gone, func(m *state.Member) { m.Started = false })), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.LostData},
		},
		"lets an initial member with a volume join if it never started": {
			stateWith(formed, members(3), with(1, withoutPod, func(m *state.Member) { m.Started = false })),
			steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartJoin},
		},
		"removes a learner whose data is lost": {
			stateWith(formed, members(3), with(3, learner, gone), size(4)), steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: state.LostData},
		},
		"starts a learner that was just added": {
			stateWith(formed, members(2), with(2, justAdded)), steps.CreateMember{Name: nameOf(2), Incarnation: 1, Start: state.StartJoin},
		},
		"promotes the learner before it removes a member whose data is lost": {
			stateWith(formed, members(3), with(1, gone), with(3, learner), promoting(3), size(4)), steps.PromoteLearner{ID: 4, Name: nameOf(3)},
		},
		"removes a learner that cannot start before a member whose data is lost": {
			stateWith(formed, members(3), with(1, gone), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4)), size(4)),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: state.MakesWay},
		},
		"deletes the Pod of a removed member": {
			stateWith(formed, members(3), with(3, voter, removed)),
			steps.DeletePod{Name: nameOf(3), Reason: v1beta2.ReasonScaling, Message: "it is no longer a member of the cluster"},
		},
		"waits until the Pod of a removed member has stopped": {
			stateWith(formed, members(3), with(3, voter, removed, pod(state.PodDeleting))),
			steps.Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + nameOf(3) + " was removed, and its Pod is stopping."},
		},
		"deletes the volume of a removed member when all members serve": {
			stateWith(formed, members(3), with(3, volume(state.VolumePresent))), steps.DeleteVolume{Name: nameOf(3), Reason: v1beta2.ReasonScaling},
		},
		"keeps the volume of a removed member while another member is starting": {
			stateWith(formed, members(3), with(2, pod(state.PodStarting)), with(3, volume(state.VolumePresent))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(2) + " is starting."},
		},
		"deletes a Pod that waits for a missing volume": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodUnschedulable), volume(state.VolumeNone))),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonMemberDown, Message: "the volume that it waits for does not exist"},
		},
		"recreates a Pod that was created to rejoin if its member has never joined": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), func(m *state.Member) { m.Started = false })),
			steps.DeletePod{Name: nameOf(1), Reason: v1beta2.ReasonScaling, Message: "the member has not joined the cluster yet"},
		},
		"recreates a Pod that was created to join a membership that has changed": {
			stateWith(formed, members(2), with(2, justAdded, blockedBy(v1beta2.ReasonPodFailing), func(m *state.Member) { m.Start, m.Peers = state.StartJoin, nameOf(2) })),
			steps.DeletePod{Name: nameOf(2), Reason: v1beta2.ReasonScaling, Message: "the membership has changed since the Pod was created to join it"},
		},
		"keeps a Pod with emptyDir that may hold data, even if its image is outdated": {
			stateWith(formed, members(3), ephemeral, with(1, blockedBy(v1beta2.ReasonPodFailing), withImage("3.6.15"), silent, volume(state.VolumeNone))),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"adds a voter to the client Service": {
			stateWith(formed, members(3), with(1, func(m *state.Member) { m.InService = false })), steps.AddToService{Name: nameOf(1)},
		},
		"waits while a member stops": {
			stateWith(formed, members(3), with(1, pod(state.PodDeleting))), steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " is stopping."},
		},
		"asks a person if a node does not confirm that a Pod has stopped": {
			stateWith(formed, members(3), with(1, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Minute) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(1)), Stalled: true},
		},
		"waits for a member that does not answer": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), func(m *state.Member) { m.Unanswered = "timeout" })),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + nameOf(1) + " does not serve: timeout."},
		},
		"replaces a member that runs and has not served for an hour": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), unreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"does not replace a member that still reads a large database": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), unreadyFor(10*time.Minute), loading)),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting: it reads its database. It may take up to 10m0s for that."},
		},
		"replaces a member that takes longer to start than its startup budget allows": {
			stateWith(formed, members(3), with(1, pod(state.PodRunning), unreadyFor(16*time.Minute), loading)), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"waits for members that read their databases, and does not report quorum as lost": {
			stateWith(formed, members(3), noQuorum, with(0, silent, unreadyFor(10*time.Minute), loading), with(1, silent, unreadyFor(10*time.Minute)), with(2, silent, unreadyFor(10*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
		"replaces a member whose container has exited repeatedly for an hour": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), unreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"replaces a member whose node has been lost for an hour": {
			stateWith(formed, members(3), with(1, pod(state.PodDeleting), unreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"replaces a learner whose node has been lost for an hour": {
			stateWith(formed, members(3), with(3, learner, pod(state.PodDeleting), unreadyFor(time.Hour)), size(4)), steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: isDead},
		},
		"replaces no member because its image cannot be pulled": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonImageUnavailable), unreadyFor(time.Hour))),
			steps.Wait{Reason: v1beta2.ReasonImageUnavailable, Message: "Member " + nameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"replaces no unschedulable learner that has never run": {
			stateWith(formed, members(3), with(3, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(4), unreadyFor(time.Hour)), size(4)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(3) + " does not run: why. Quorum holds (3 of 3).", Stalled: true},
		},
		"replaces a member after the grace period of the spec": {
			stateWith(formed, members(3), grace(time.Minute), with(1, pod(state.PodRunning), unreadyFor(61*time.Second))),
			steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: "it has not served for 60s"},
		},
		"replaces no member before the grace period of the spec ends": {
			stateWith(formed, members(3), grace(time.Hour), with(1, pod(state.PodStarting), unreadyFor(4*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"replaces an unschedulable member, because its volume may be bound to a lost node": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodUnschedulable), unreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"replaces an unschedulable learner that has run before": {
			stateWith(formed, members(3), with(3, learner, blockedBy(v1beta2.ReasonPodUnschedulable), unreadyFor(time.Hour)), size(4)),
			steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: isDead},
		},
		"removes a learner that cannot start if a voter must be replaced": {
			stateWith(formed, members(4), with(1, pod(state.PodRunning), unreadyFor(time.Hour)), with(4, justAdded, blockedBy(v1beta2.ReasonPodUnschedulable), joining(5), unreadyFor(time.Minute)), size(5)),
			steps.RemoveMember{ID: 5, Name: nameOf(4), Cause: state.MakesWay},
		},
		"replaces a member whose data is corrupt at once": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonPodFailing), damaged)), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.CorruptData},
		},
		"replaces a learner whose data is corrupt at once": {
			stateWith(formed, members(3), with(3, learner, blockedBy(v1beta2.ReasonPodFailing), damaged), size(4)), steps.RemoveMember{ID: 4, Name: nameOf(3), Cause: state.CorruptData},
		},
		"keeps a member with corrupt data if its removal would leave no quorum": {
			stateWith(formed, members(4), with(1, blockedBy(v1beta2.ReasonPodFailing), damaged), with(2, pod(state.PodRunning)), with(3, pod(state.PodRunning)), size(4)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Member " + nameOf(1) + " must be replaced, because its data is corrupt. Removing it would leave no quorum, so the operator waits. Recover the members that are down. Meanwhile: Member " + nameOf(1) + " does not run: why. Quorum holds (1 of 4).", Stalled: true},
		},
		"force-deletes the Pod of a removed member if its node does not confirm the stop": {
			stateWith(formed, members(3), with(3, onVolume, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Minute) })), steps.ForceDeletePod{Name: nameOf(3)},
		},
		"waits for the Pod of a removed member until its node must confirm the stop": {
			stateWith(formed, members(3), with(3, onVolume, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(time.Second) })),
			steps.Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + nameOf(3) + " was removed, and its Pod is stopping."},
		},
		"replaces no member that has been starting for 4 minutes": {
			stateWith(formed, members(3), with(1, pod(state.PodStarting), unreadyFor(4*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
	}.run(t)
}

func TestPlanQuorumLost(t *testing.T) {
	planTests{
		"removes nothing if most voters have lost their data": {
			stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. " + consent, Stalled: true},
		},
		"does not count the volume of a member that never voted": {
			stateWith(formed, members(3), noQuorum, with(1, gone), with(2, gone), with(3, volume(state.VolumePresent), pod(state.PodRunning))),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. " + consent, Stalled: true},
		},
		"waits while members that have data start": {
			stateWith(formed, members(3), noQuorum, with(0, pod(state.PodStarting)), with(1, pod(state.PodStarting)), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + "."},
		},
		"reports a member that has data and cannot start": {
			stateWith(formed, members(3), noQuorum, with(1, blockedBy(v1beta2.ReasonPodUnschedulable)), with(2, gone)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + nameOf(1) + " does not run: why. No quorum answers, so etcd accepts no writes.", Stalled: true},
		},
		"reports a lost quorum if members that have data elect no leader in time": {
			stateWith(formed, members(2), noQuorum, with(0, unreadyFor(time.Minute)), with(1, unreadyFor(time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + nameOf(0) + ", " + nameOf(1) +
				". The operator removes nothing. Recover these members. If some of them are lost for good, delete their PersistentVolumeClaims. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"reports the way out if a restored cluster loses quorum while it grows": {
			stateWith(formed, restored(v1beta2.RestoreGrowing), members(1), noQuorum, with(0, gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 0 of 1 voters have their data, and 1 are needed. etcd accepts no writes. The operator removes nothing. To continue from a snapshot, delete EtcdRestore back and apply another.", Stalled: true},
		},
	}.run(t)
}

func TestPlanScale(t *testing.T) {
	planTests{
		"adds one learner": {
			stateWith(formed, members(3), size(4)), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"adds a voter if etcd has no learners": {
			stateWith(formed, members(3), size(4), promoting(3), ofVersion("3.3.27"), func(s *state.State) {
				for i := range s.Members {
					withImage("3.3.27")(&s.Members[i])
				}
			}),
			steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3), Voter: true},
		},
		"gives a new member a name that no volume has": {
			stateWith(formed, members(2), with(2, volume(state.VolumePresent))), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"waits for a learner that is catching up": {
			stateWith(formed, members(3), with(3, learner, pod(state.PodStarting)), size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + nameOf(3) + " is catching up with the leader."},
		},
		"promotes a learner that answers": {
			stateWith(formed, members(3), with(3, learner), promoting(3), size(4)), steps.PromoteLearner{ID: 4, Name: nameOf(3)},
		},
		"adds no member while another one is starting": {
			stateWith(formed, members(3), with(1, pod(state.PodStarting)), size(5)),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"adds no member without a StorageClass": {
			stateWith(formed, members(2), noClass), steps.Wait{Reason: v1beta2.ReasonNoStorageClass, Message: noClassMessage, Stalled: true},
		},
		"removes the learner if spec.size is lowered again": {
			stateWith(formed, members(3), with(3, learner)), steps.RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"removes a learner that is starting if spec.size is lowered again": {
			stateWith(formed, members(3), with(3, justAdded, pod(state.PodStarting))), steps.RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"removes the newest member": {
			stateWith(formed, members(5)), steps.RemoveMember{ID: 5, Name: nameOf(4)},
		},
		"removes the second newest member if the newest one leads": {
			stateWith(formed, members(5), with(0, func(m *state.Member) { m.Leader = false }), with(4, func(m *state.Member) { m.Leader = true })),
			steps.RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"removes a member that does not serve first": {
			stateWith(formed, members(5), with(1, pod(state.PodRunning))), steps.RemoveMember{ID: 2, Name: nameOf(1)},
		},
		"removes a member whose volume is being deleted first": {
			stateWith(formed, members(5), with(1, volume(state.VolumeDeleting))), steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: state.CauseVolumeDeleted},
		},
		"removes no member until a leader is known": {
			stateWith(formed, members(5), with(0, func(m *state.Member) { m.Leader = false })),
			steps.Wait{Reason: v1beta2.ReasonScaling, Message: "No member is the leader. The operator never removes the leader, so it waits until the members have elected one."},
		},
		"removes a new voter if spec.size is lowered again": {
			stateWith(formed, members(4)), steps.RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"adds a member to replace one whose volume is being deleted": {
			stateWith(formed, members(3), with(1, volume(state.VolumeDeleting))), steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"moves leadership from a member whose volume is being deleted": {
			stateWith(formed, members(4), with(0, volume(state.VolumeDeleting))), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"never removes the last member": {
			stateWith(formed, members(1), size(0)), steps.Done{},
		},
	}.run(t)
}

// A quota may refuse the volume of a new member. A voter that has its data must start before it, because quorum may depend on
// that voter.
func TestMembersWithDataStartFirst(t *testing.T) {
	// The learner sorts before the voter. A quota refuses its volume.
	s := stateWith(formed, members(3), size(4), with(3, justAdded), with(2, withoutPod))
	slices.Reverse(s.Members)
	if create, creates := Plan(s).(steps.CreateMember); !creates || create.Name != nameOf(2) {
		t.Errorf("voter %s has data and does not run, and the plan is %+v", nameOf(2), Plan(s))
	}
}

// With the largest timeout, an election takes up to 100 s. Without this, a message advises to delete volumes in that time.
func TestAnElectionWithALongTimeoutIsNoLostQuorum(t *testing.T) {
	for name, c := range map[string]change{
		"spec.etcd": func(s *state.State) {
			s.Spec.Etcd = &v1beta2.EtcdPolicy{ElectionTimeout: &metav1.Duration{Duration: 50 * time.Second}}
		},
		"an environment variable": policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_ELECTION_TIMEOUT", Value: "50000"}}}),
	} {
		s := stateWith(formed, members(3), noQuorum, c)
		for i := range s.Members {
			s.Members[i].UnreadySince, s.Members[i].Unanswered = noon.Add(-100*time.Second), "it cannot reach a quorum"
		}
		if step, is := Plan(s).(steps.Wait); !is || step.Reason == v1beta2.ReasonQuorumLost {
			t.Errorf("%s: %+v", name, Plan(s))
		}
		s.Now = s.Now.Add(2 * time.Minute)
		if step, is := Plan(s).(steps.Wait); !is || step.Reason != v1beta2.ReasonQuorumLost {
			t.Errorf("%s, after the election: %+v", name, Plan(s))
		}
	}
}

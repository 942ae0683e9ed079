package membership_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

const consent = "Bring back the same volumes, not copies: a copy can lack writes that etcd has acknowledged. Or set spec.recovery.quorumLoss to ForceNewCluster to continue from the member with the newest data. To continue from a snapshot, apply an EtcdRestore."

// loading: the startup probe of its Pod still runs, and may take ten minutes.
func loading(m *state.Member) { m.StartupBudget = 10 * time.Minute }

func TestPlanHeal(t *testing.T) {
	plantest.Plans{
		"starts a member on its volume if its Pod is missing": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"deletes the ended Pod of a member that was evicted": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodEnded))),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonMemberDown, Message: "it has ended: "},
		},
		"starts the members that have data if all Pods are missing": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod)),
			steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
		"removes a member without a Pod if its volume is being deleted": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod, plantest.Volume(state.VolumeDeleting))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.LostData},
		},
		"removes a member whose Pod and volume are missing": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Gone)), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.LostData},
		},
		"removes a member with emptyDir whose Pod is missing": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, plantest.With(1, plantest.Gone)), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.LostData},
		},
		"removes an initial member that lost its volume before it reported its start": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Gone, func(m *state.Member) { m.Started = false })), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.LostData},
		},
		"lets an initial member with a volume join if it never started": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod, func(m *state.Member) { m.Started = false })),
			steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartJoin},
		},
		"removes a learner whose data is lost": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner, plantest.Gone), plantest.Size(4)), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: state.LostData},
		},
		"starts a learner that was just added": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.With(2, plantest.JustAdded)), steps.CreateMember{Name: plantest.NameOf(2), Incarnation: 1, Start: state.StartJoin},
		},
		"promotes the learner before it removes a member whose data is lost": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Gone), plantest.With(3, plantest.Learner), promoting(3), plantest.Size(4)), steps.PromoteLearner{ID: 4, Name: plantest.NameOf(3)},
		},
		"removes a learner that cannot start before a member whose data is lost": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Gone), plantest.With(3, plantest.JustAdded, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Joining(4)), plantest.Size(4)),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: state.MakesWay},
		},
		"deletes the Pod of a removed member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Voter, plantest.Removed)),
			steps.DeletePod{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling, Message: "it is no longer a member of the cluster"},
		},
		"waits until the Pod of a removed member has stopped": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Voter, plantest.Removed, plantest.Pod(state.PodDeleting))),
			steps.Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + plantest.NameOf(3) + " was removed, and its Pod is stopping."},
		},
		"deletes the volume of a removed member when all members serve": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Volume(state.VolumePresent))), steps.DeleteVolume{Name: plantest.NameOf(3), Reason: v1beta2.ReasonScaling},
		},
		"keeps the volume of a removed member while another member is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Pod(state.PodStarting)), plantest.With(3, plantest.Volume(state.VolumePresent))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(2) + " is starting."},
		},
		"deletes a Pod that waits for a missing volume": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Volume(state.VolumeNone))),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonMemberDown, Message: "the volume that it waits for does not exist"},
		},
		"recreates a Pod that was created to rejoin if its member has never joined": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), func(m *state.Member) { m.Started = false })),
			steps.DeletePod{Name: plantest.NameOf(1), Reason: v1beta2.ReasonScaling, Message: "the member has not joined the cluster yet"},
		},
		"recreates a Pod that was created to join a membership that has changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.With(2, plantest.JustAdded, plantest.BlockedBy(v1beta2.ReasonPodFailing), func(m *state.Member) { m.Start, m.Peers = state.StartJoin, plantest.NameOf(2) })),
			steps.DeletePod{Name: plantest.NameOf(2), Reason: v1beta2.ReasonScaling, Message: "the membership has changed since the Pod was created to join it"},
		},
		"keeps a Pod with emptyDir that may hold data, even if its image is outdated": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.WithImage("3.6.15"), plantest.Silent, plantest.Volume(state.VolumeNone))),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "Member " + plantest.NameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"adds a voter to the client Service": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, func(m *state.Member) { m.InService = false })), steps.AddToService{Name: plantest.NameOf(1)},
		},
		"waits while a member stops": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodDeleting))), steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " is stopping."},
		},
		"asks a person if a node does not confirm that a Pod has stopped": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = plantest.Noon.Add(-time.Minute) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: plantest.StillRuns(plantest.NameOf(1)), Stalled: true},
		},
		"waits for a member that does not answer": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), func(m *state.Member) { m.Unanswered = "timeout" })),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "Member " + plantest.NameOf(1) + " does not serve: timeout."},
		},
		"replaces a member that runs and has not served for an hour": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: plantest.IsDead},
		},
		"does not replace a member that still reads a large database": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(10*time.Minute), loading)),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting: it reads its database. It may take up to 10m0s for that."},
		},
		"replaces a member that takes longer to start than its startup budget allows": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(16*time.Minute), loading)), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: plantest.IsDead},
		},
		"waits for members that read their databases, and does not report quorum as lost": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.Silent, plantest.UnreadyFor(10*time.Minute), loading), plantest.With(1, plantest.Silent, plantest.UnreadyFor(10*time.Minute)), plantest.With(2, plantest.Silent, plantest.UnreadyFor(10*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + plantest.NameOf(0) + ", " + plantest.NameOf(1) + ", " + plantest.NameOf(2) + "."},
		},
		"replaces a member whose container has exited repeatedly for an hour": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.UnreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: plantest.IsDead},
		},
		"replaces a member whose node has been lost for an hour": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodDeleting), plantest.UnreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: plantest.IsDead},
		},
		"replaces a learner whose node has been lost for an hour": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner, plantest.Pod(state.PodDeleting), plantest.UnreadyFor(time.Hour)), plantest.Size(4)), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: plantest.IsDead},
		},
		"replaces no member because its image cannot be pulled": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonImageUnavailable), plantest.UnreadyFor(time.Hour))),
			steps.Wait{Reason: v1beta2.ReasonImageUnavailable, Message: "Member " + plantest.NameOf(1) + " does not run: why. Quorum holds (2 of 3).", Stalled: true},
		},
		"replaces no unschedulable learner that has never run": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.JustAdded, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Joining(4), plantest.UnreadyFor(time.Hour)), plantest.Size(4)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + plantest.NameOf(3) + " does not run: why. Quorum holds (3 of 3).", Stalled: true},
		},
		"replaces a member after the grace period of the spec": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Grace(time.Minute), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(61*time.Second))),
			steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: "it has not served for 60s"},
		},
		"replaces no member before the grace period of the spec ends": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Grace(time.Hour), plantest.With(1, plantest.Pod(state.PodStarting), plantest.UnreadyFor(4*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"replaces an unschedulable member, because its volume may be bound to a lost node": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.UnreadyFor(time.Hour))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: plantest.IsDead},
		},
		"replaces an unschedulable learner that has run before": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.UnreadyFor(time.Hour)), plantest.Size(4)),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: plantest.IsDead},
		},
		"removes a learner that cannot start if a voter must be replaced": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(1, plantest.Pod(state.PodRunning), plantest.UnreadyFor(time.Hour)), plantest.With(4, plantest.JustAdded, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable), plantest.Joining(5), plantest.UnreadyFor(time.Minute)), plantest.Size(5)),
			steps.RemoveMember{ID: 5, Name: plantest.NameOf(4), Cause: state.MakesWay},
		},
		"replaces a member whose data is corrupt at once": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.Damaged)), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CorruptData},
		},
		"replaces a learner whose data is corrupt at once": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.Damaged), plantest.Size(4)), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3), Cause: state.CorruptData},
		},
		"keeps a member with corrupt data if its removal would leave no quorum": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodFailing), plantest.Damaged), plantest.With(2, plantest.Pod(state.PodRunning)), plantest.With(3, plantest.Pod(state.PodRunning)), plantest.Size(4)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Member " + plantest.NameOf(1) + " must be replaced, because its data is corrupt. Removing it would leave no quorum, so the operator waits. Recover the members that are down. Meanwhile: Member " + plantest.NameOf(1) + " does not run: why. Quorum holds (1 of 4).", Stalled: true},
		},
		"force-deletes the Pod of a removed member if its node does not confirm the stop": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.OnVolume, plantest.Pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = plantest.Noon.Add(-time.Minute) })), steps.ForceDeletePod{Name: plantest.NameOf(3)},
		},
		"waits for the Pod of a removed member until its node must confirm the stop": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.OnVolume, plantest.Pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = plantest.Noon.Add(time.Second) })),
			steps.Wait{Reason: v1beta2.ReasonScaling, Message: "Member " + plantest.NameOf(3) + " was removed, and its Pod is stopping."},
		},
		"replaces no member that has been starting for 4 minutes": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodStarting), plantest.UnreadyFor(4*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
	}.Run(t, plan.Plan)
}

func TestPlanQuorumLost(t *testing.T) {
	plantest.Plans{
		"removes nothing if most voters have lost their data": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. " + consent, Stalled: true},
		},
		"does not count the volume of a member that never voted": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.Gone), plantest.With(2, plantest.Gone), plantest.With(3, plantest.Volume(state.VolumePresent), plantest.Pod(state.PodRunning))),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 1 of 3 voters have their data, and 2 are needed. etcd accepts no writes. The operator removes nothing. " + consent, Stalled: true},
		},
		"waits while members that have data start": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(0, plantest.Pod(state.PodStarting)), plantest.With(1, plantest.Pod(state.PodStarting)), plantest.With(2, plantest.Gone)),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + plantest.NameOf(0) + ", " + plantest.NameOf(1) + "."},
		},
		"reports a member that has data and cannot start": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, plantest.With(1, plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)), plantest.With(2, plantest.Gone)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Member " + plantest.NameOf(1) + " does not run: why. No quorum answers, so etcd accepts no writes.", Stalled: true},
		},
		"reports a lost quorum if members that have data elect no leader in time": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.NoQuorum, plantest.With(0, plantest.UnreadyFor(time.Minute)), plantest.With(1, plantest.UnreadyFor(time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + plantest.NameOf(0) + ", " + plantest.NameOf(1) +
				". The operator removes nothing. Recover these members. If some of them are lost for good, delete their PersistentVolumeClaims. To continue from a snapshot, apply an EtcdRestore.", Stalled: true},
		},
		"reports the way out if a restored cluster loses quorum while it grows": {
			plantest.StateWith(plantest.Formed, plantest.Restored(v1beta2.RestoreGrowing), plantest.Members(1), plantest.NoQuorum, plantest.With(0, plantest.Gone)),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Message: "Quorum is lost: 0 of 1 voters have their data, and 1 are needed. etcd accepts no writes. The operator removes nothing. To continue from a snapshot, delete EtcdRestore back and apply another.", Stalled: true},
		},
	}.Run(t, plan.Plan)
}

func TestPlanScale(t *testing.T) {
	plantest.Plans{
		"adds one learner": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4)), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"adds a voter if etcd has no learners": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), promoting(3), plantest.OfVersion("3.3.27"), func(s *state.State) {
				for i := range s.Members {
					plantest.WithImage("3.3.27")(&s.Members[i])
				}
			}),
			steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3), Voter: true},
		},
		"gives a new member a name that no volume has": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.With(2, plantest.Volume(state.VolumePresent))), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"waits for a learner that is catching up": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner, plantest.Pod(state.PodStarting)), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + plantest.NameOf(3) + " is catching up with the leader."},
		},
		"promotes a learner that answers": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner), promoting(3), plantest.Size(4)), steps.PromoteLearner{ID: 4, Name: plantest.NameOf(3)},
		},
		"adds no member while another one is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Pod(state.PodStarting)), plantest.Size(5)),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"adds no member without a StorageClass": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.NoClass), steps.Wait{Reason: v1beta2.ReasonNoStorageClass, Message: plantest.NoClassMessage, Stalled: true},
		},
		"removes the learner if spec.size is lowered again": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner)), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3)},
		},
		"removes a learner that is starting if spec.size is lowered again": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.JustAdded, plantest.Pod(state.PodStarting))), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3)},
		},
		"removes the newest member": {
			plantest.StateWith(plantest.Formed, plantest.Members(5)), steps.RemoveMember{ID: 5, Name: plantest.NameOf(4)},
		},
		"removes the second newest member if the newest one leads": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.With(0, func(m *state.Member) { m.Leader = false }), plantest.With(4, func(m *state.Member) { m.Leader = true })),
			steps.RemoveMember{ID: 4, Name: plantest.NameOf(3)},
		},
		"removes a member that does not serve first": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.With(1, plantest.Pod(state.PodRunning))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1)},
		},
		"removes a member whose volume is being deleted first": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.With(1, plantest.Volume(state.VolumeDeleting))), steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: state.CauseVolumeDeleted},
		},
		"removes no member until a leader is known": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.With(0, func(m *state.Member) { m.Leader = false })),
			steps.Wait{Reason: v1beta2.ReasonScaling, Message: "No member is the leader. The operator never removes the leader, so it waits until the members have elected one."},
		},
		"removes a new voter if spec.size is lowered again": {
			plantest.StateWith(plantest.Formed, plantest.Members(4)), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3)},
		},
		"adds a member to replace one whose volume is being deleted": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Volume(state.VolumeDeleting))), steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"moves leadership from a member whose volume is being deleted": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(0, plantest.Volume(state.VolumeDeleting))), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"never removes the last member": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Size(0)), steps.Done{},
		},
	}.Run(t, plan.Plan)
}

// A quota may refuse the volume of a new member. A voter that has its data must start before it, because quorum may depend on
// that voter.
func TestMembersWithDataStartFirst(t *testing.T) {
	// The learner sorts before the voter. A quota refuses its volume.
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4), plantest.With(3, plantest.JustAdded), plantest.With(2, plantest.WithoutPod))
	slices.Reverse(s.Members)
	if create, creates := plan.Plan(s).(steps.CreateMember); !creates || create.Name != plantest.NameOf(2) {
		t.Errorf("voter %s has data and does not run, and the plan is %+v", plantest.NameOf(2), plan.Plan(s))
	}
}

// With the largest timeout, an election takes up to 100 s. Without this, a message advises to delete volumes in that time.
func TestAnElectionWithALongTimeoutIsNoLostQuorum(t *testing.T) {
	for name, c := range map[string]plantest.Change{
		"spec.etcd": func(s *state.State) {
			s.Spec.Etcd = &v1beta2.EtcdPolicy{ElectionTimeout: &metav1.Duration{Duration: 50 * time.Second}}
		},
		"an environment variable": plantest.Policy(v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "ETCD_ELECTION_TIMEOUT", Value: "50000"}}}),
	} {
		s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.NoQuorum, c)
		for i := range s.Members {
			s.Members[i].UnreadySince, s.Members[i].Unanswered = plantest.Noon.Add(-100*time.Second), "it cannot reach a quorum"
		}
		if step, is := plan.Plan(s).(steps.Wait); !is || step.Reason == v1beta2.ReasonQuorumLost {
			t.Errorf("%s: %+v", name, plan.Plan(s))
		}
		s.Now = s.Now.Add(2 * time.Minute)
		if step, is := plan.Plan(s).(steps.Wait); !is || step.Reason != v1beta2.ReasonQuorumLost {
			t.Errorf("%s, after the election: %+v", name, plan.Plan(s))
		}
	}
}

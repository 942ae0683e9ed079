package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	seedFailed  = "the object does not exist"
	seedRemoved = " The operator removes the seed. The cluster was not changed."
)

func askedAnother(s *state.State) {
	s.Request = &state.RestoreRequest{Name: "again", UID: "uid-again", Revision: 42}
}

// keptInPod ends the message about a seed whose Pod has the only data that is left.
const keptInPod = " No voter of the old cluster has its data, so the operator keeps the seed."

// aLearner adds a learner that runs, and that the record of the voters does not have.
func aLearner(s *state.State) {
	s.Members = append(s.Members, state.Member{Name: nameOf(3), Incarnation: 1, Pod: state.PodRunning, Volume: state.VolumePresent})
}

// promoted: another party has promoted a learner, and the record of the voters does not have it.
func promoted(s *state.State) {
	m := state.Member{Name: nameOf(2), Incarnation: 1}
	onVolume(&m)
	voter(&m)
	s.Members = append(s.Members, m)
}

// anEarlierOne adds a leftover Pod of the incarnation before the old members.
func anEarlierOne(s *state.State) {
	s.Members = append(s.Members, state.Member{Name: nameOf(4), Pod: state.PodRunning, Volume: state.VolumePresent})
}

// seedIsRefused: the API server refused to delete the object of the seed's Pod, which has ended.
func seedIsRefused(s *state.State) {
	var repeats Repeats
	s.Held = append(s.Held, repeats.Refused(*s, steps.DeletePod{Name: seedName}, "a webhook"))
}

func failed(s state.Seed) func(*state.Member) {
	return func(m *state.Member) {
		serving(m)
		pod(state.PodStarting)(m)
		m.Seed = &s
	}
}

// inSeedMembership: the seed is the leader of its own cluster, and reports the membership.
func inSeedMembership(m *state.Member) { m.InMembership, m.Started, m.Leader = true, true, true }

func TestPlanRestoreSeeding(t *testing.T) {
	wait := func(message string) steps.Step { return steps.Wait{Reason: v1beta2.ReasonRestoring, Message: message} }
	begin := func(before string) steps.Step {
		return steps.BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
			Name: "back", UID: "uid-back", Step: v1beta2.RestoreSeeding, Message: "The operator is restoring a seed. The members continue to serve.",
			Incarnation: 2, ClusterIDBefore: before,
		}}
	}
	planTests{
		"starts a verified restore": {
			stateWith(formed, members(3), asked), begin(oldID),
		},
		"starts a restore if quorum is lost": {
			stateWith(formed, members(3), noQuorum, with(0, gone), with(1, gone), asked), begin(oldID),
		},
		"starts a restore as incarnation 2 if no cluster has formed": {
			stateWith(asked, func(s *state.State) { s.RestorePending = "back" }), begin(""),
		},
		"does not start a failed restore again": {
			stateWith(formed, members(3), restored(v1beta2.RestoreFailed), asked), steps.Done{},
		},
		"creates the seed beside the old members": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"recreates the Pod of a seed on its volume": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(volume(state.VolumePresent))),
			steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"recreates an old member before it creates the seed": {
			stateWith(formed, members(3), with(1, withoutPod), restored(v1beta2.RestoreSeeding), asked),
			steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin},
		},
		"waits until the volume of an earlier seed is deleted": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(volume(state.VolumeDeleting))), wait("An earlier seed is being removed."),
		},
		"stops a seed whose volume is being deleted": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, volume(state.VolumeDeleting))),
			steps.DeletePod{Name: seedName, Reason: v1beta2.ReasonRestoring, Message: "its volume is being deleted, and the seed must be restored again"},
		},
		"reports both fixes if there is no default StorageClass": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, noClass),
			steps.Wait{Reason: v1beta2.ReasonNoStorageClass, Message: noClassMessage, Stalled: true},
		},
		"waits while the seed is restored": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting))),
			wait("Seed " + seedName + " is being restored. The members continue to serve."),
		},
		"reports a seed whose Pod fails again and again": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, rejectedSeed), seedFailures(3)), rejected(4),
		},
		"fails if the Pod of the seed has failed 12 times in a row": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, rejectedSeed), seedFailures(11)),
			steps.FailRestore{Message: "The Pod of seed " + seedName + " failed 12 times in a row: OutOfcpu. The operator removes the seed. The cluster was not changed."},
		},
		"reports why the seed does not start": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, blockedBy(v1beta2.ReasonPodUnschedulable))),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Seed " + seedName + " does not run: why. The members continue to serve.", Stalled: true},
		},
		"fails if the seed reports that a retry cannot help": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(failed(state.Seed{Failures: 1, Hopeless: true, Message: seedFailed}))),
			steps.FailRestore{Message: "The seed could not be restored: " + seedFailed + ". The cluster was not changed."},
		},
		"fails if the seed has failed 3 times": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(failed(state.Seed{Failures: 3, Message: seedFailed}))),
			steps.FailRestore{Message: "The seed could not be restored: " + seedFailed + ". The cluster was not changed."},
		},
		"lets the seed try again after 2 failures": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(failed(state.Seed{Failures: 2, Message: seedFailed}))),
			wait("Seed " + seedName + " is being restored. The members continue to serve."),
		},
		"fails if the seed has a lower revision than the snapshot": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, func(m *state.Member) { m.Revision = 41 })),
			steps.FailRestore{Message: "The seed holds revision 41, but the snapshot holds revision 42. The cluster was not changed."},
		},
		"fails if the revision of the seed is not above all revisions of the cluster": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), func(s *state.State) {
				s.Restore.RevisionBefore, s.Restore.RevisionBump = 1000000042, 1
			}),
			steps.FailRestore{Message: "The seed holds revision 1000000042, but the cluster has had revision 1000000042, so clients would read older revisions. Apply another EtcdRestore with a larger spec.revisionBump. The cluster was not changed."},
		},
		"fails if clients wrote past the revision of the seed during the restore": {
			stateWith(formed, members(3), with(1, func(m *state.Member) { m.Revision = 1000000050 }), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), func(s *state.State) {
				s.Restore.RevisionBefore, s.Restore.RevisionBump = 1000000000, 42
			}),
			steps.FailRestore{Message: "The seed holds revision 1000000042, but the cluster has had revision 1000000050, so clients would read older revisions. Apply another EtcdRestore with a larger spec.revisionBump. The cluster was not changed."},
		},
		"fails if the image of the seed is unavailable for more than 5 min": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, blockedBy(v1beta2.ReasonImageUnavailable), unreadySince(6*time.Minute))),
			steps.FailRestore{Message: "Seed " + seedName + " has not started for 5m0s: why." + seedRemoved},
		},
		"still waits if no node can run the seed for 6 min": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, blockedBy(v1beta2.ReasonPodUnschedulable), unreadySince(6*time.Minute))),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Message: "Seed " + seedName + " does not run: why. The members continue to serve.", Stalled: true},
		},
		"fails if no node can run the seed for more than 15 min": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, blockedBy(v1beta2.ReasonPodUnschedulable), unreadySince(16*time.Minute))),
			steps.FailRestore{Message: "Seed " + seedName + " has not started for 15m0s: why." + seedRemoved},
		},
		"fails if the node of the seed does not confirm that its Pod has stopped": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Minute) })),
			steps.FailRestore{Message: "The node of seed " + seedName + " does not confirm that its Pod has stopped." + seedRemoved},
		},
		"fails if the seed does not serve within 5 min after its data was restored": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, silent, unreadySince(time.Hour), func(m *state.Member) { m.Seed = &state.Seed{DoneAt: noon.Add(-6 * time.Minute)} })),
			steps.FailRestore{Message: "Seed " + seedName + " was restored, but has not served for 5m0s: its Pod is not ready." + seedRemoved},
		},
		"fails if the seed answers, but its Pod is not ready within 5 min": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, unreadySince(time.Hour), func(m *state.Member) { m.PodReady, m.Seed = false, &state.Seed{DoneAt: noon.Add(-6 * time.Minute)} })),
			steps.FailRestore{Message: "Seed " + seedName + " was restored, but has not served for 5m0s: its Pod is not ready." + seedRemoved},
		},
		"fails if a small snapshot is not restored within 1 h": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting), silent, unreadySince(2*time.Hour))),
			steps.FailRestore{Message: "Seed " + seedName + " has not become ready for 1h0m0s. That is too long for this snapshot." + seedRemoved},
		},
		"still waits if a snapshot of 8 GiB is not restored within 2 h": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting), silent, unreadySince(2*time.Hour)), func(s *state.State) { s.Request.Size = 8 << 30 }),
			wait("Seed " + seedName + " is being restored. The members continue to serve."),
		},
		"waits up to 1 h until a small snapshot is restored": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting), silent, unreadySince(time.Hour))),
			wait("Seed " + seedName + " is being restored. The members continue to serve."),
		},
		"reports the Pod of a failed seed if its node does not confirm that it has stopped": {
			stateWith(formed, members(3), restored(v1beta2.RestoreFailed), aSeed(serving, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Minute) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(seedName), Stalled: true},
		},
		"fails if the EtcdRestore is deleted": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), aSeed(serving)),
			steps.FailRestore{Message: "EtcdRestore back was deleted. The seed had not taken over." + restore.OldContinue},
		},
		"fails if its EtcdRestore has failed": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), aSeed(serving), func(s *state.State) { s.RestoreFailed = true }),
			steps.FailRestore{Message: "EtcdRestore back has failed. The seed had not taken over." + restore.OldContinue + " Create an EtcdRestore with another name."},
		},
		"does not report that members continue if there are none": {
			stateWith(restored(v1beta2.RestoreSeeding), aSeed(serving)), steps.FailRestore{Message: "EtcdRestore back was deleted. The seed had not taken over, so the cluster was not changed."},
		},
		"does not report that members continue if their data is lost": {
			stateWith(formed, members(3), noQuorum, with(0, gone), with(1, gone), with(2, gone), restored(v1beta2.RestoreSeeding), aSeed(serving)),
			steps.FailRestore{Message: "EtcdRestore back was deleted. The seed had not taken over, so the cluster was not changed."},
		},
		"fails if its EtcdRestore has lost its status": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), aSeed(serving), unverified),
			steps.FailRestore{Message: "EtcdRestore back has lost its status. The seed had not taken over." + restore.OldContinue + " Create an EtcdRestore with another name."},
		},
		"begins the switch beside foreign voters if an annotation states that they have stopped": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), foreignStopped),
			steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042},
		},
		"switches beside foreign voters while a quorum answers, because it can fence them": {
			stateWith(formed, members(1), size(1), foreignVoters(2), storage("3.6.0"), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), foreignStopped), steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042},
		},
		"ignores stopped-foreign-members while authentication refuses the operator": {
			stateWith(formed, members(1), size(1), refusesRestore, votersOf(1), foreignVoters(2), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), foreignStopped),
			askAbout("A quorum serves, and the operator cannot see whether they were removed. Authentication is on in etcd, and it refuses the operator: it has no user. Set spec.auth.operatorSecret to a Secret with the keys username and password of a user with the role root."),
		},
		"ignores stopped-foreign-members if no member answers, but the Pods are ready": {
			stateWith(formed, members(1), size(1), unreached, votersOf(1), foreignVoters(2), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), foreignStopped), stopThem,
		},
		"ignores names in stopped-foreign-members, because several members can have one name": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), namedDefault), stopThem,
		},
		"does not treat the consent to remove foreign voters as a statement that they stopped": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, gone), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), removable), stopThem,
		},
		"counts a foreign learner that another party may promote": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, gone), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), func(s *state.State) { s.ForeignMembers[1].Learner = true }),
			steps.Wait{
				Reason: v1beta2.ReasonForeignMember, Stalled: true,
				Message: "The seed of EtcdRestore back serves. The operator did not add 2 of 3 old members that vote or may vote, so it cannot stop them. They may still accept writes, so the restore does not continue. " +
					"Stop them for good. Then annotate the EtcdCluster with etcd.database.coreos.com/stopped-foreign-members=0000000000000064,0000000000000065. To cancel, delete the EtcdRestore.",
			},
		},
		"asks a person to stop foreign voters while its own member is being deleted": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, pod(state.PodDeleting)), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), removable), stopThem,
		},
		"waits for a silent node if its member and the foreign voters may be a quorum": {
			stateWith(formed, members(2), size(2), noQuorum, votersOf(2), foreignVoters(2), with(0, nodeDown, unreadyFor(2*state.StartGrace)), with(1, unreadyFor(2*state.StartGrace)), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), removable),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Stalled: true, Message: "The seed of EtcdRestore back serves, but the nodes of 1 of 4 old members do not answer: " + nameOf(0) + ". The members may still accept writes, so the restore does not continue. The old members that answer continue to serve. Make sure that the node is off. Then delete the Pod with --force --grace-period=0. To cancel, delete the EtcdRestore."},
		},
		"names the member on a silent node if the foreign voters are no quorum without it": {
			stateWith(formed, members(3), noQuorum, votersOf(3), foreignVoters(2), with(0, gone), with(1, gone), with(2, nodeDown), restored(v1beta2.RestoreSeeding), asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Stalled: true, Message: "The seed of EtcdRestore back serves, but the nodes of 1 of 5 old members do not answer: " + nameOf(2) + ". The members may still accept writes, so the restore does not continue. The old members that answer continue to serve. Make sure that the node is off. Then delete the Pod with --force --grace-period=0. To cancel, delete the EtcdRestore."},
		},
		"does not count Pods on silent nodes in which no etcd runs": {
			stateWith(formed, members(3), noQuorum, votersOf(1), with(0, gone), with(1, ahead, nodeDown), with(2, ahead, nodeDown), restored(v1beta2.RestoreSeeding), asked, aSeed(serving)),
			steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042},
		},
		"begins the switch when the seed is proven": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving)), steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042},
		},
		"begins the switch if one node of three is dead: one member is no quorum": {
			stateWith(formed, members(3), with(2, silent, nodeDown), restored(v1beta2.RestoreSeeding), asked, aSeed(serving)),
			steps.BeginSwitch{ClusterID: seedID, Revision: 1000000042},
		},
		"does not begin the switch if two nodes of three are dead": {
			stateWith(formed, members(3), noQuorum, with(1, silent, nodeDown), with(2, overdue), restored(v1beta2.RestoreSeeding), asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: "The seed of EtcdRestore back serves, but the nodes of 2 of 3 old members do not answer: " + nameOf(1) + ", " + nameOf(2) +
				". The members may still accept writes, so the restore does not continue. The old members that answer continue to serve. Make sure that these nodes are off. Then delete the Pods with --force --grace-period=0. To cancel, delete the EtcdRestore.", Stalled: true},
		},
		"deletes the Pod of a failed seed": {
			stateWith(formed, members(3), restored(v1beta2.RestoreFailed), aSeed(serving)),
			steps.DeletePod{Name: seedName, Reason: v1beta2.ReasonRestoring, Message: "its restore failed"},
		},
		"deletes the volume of a failed seed that has no Pod": {
			stateWith(formed, members(3), restored(v1beta2.RestoreFailed), aSeed(volume(state.VolumePresent))), steps.DeleteVolume{Name: seedName, Reason: v1beta2.ReasonRestoring},
		},
		"keeps the volume of a later incarnation while no quorum answers": {
			stateWith(formed, members(3), noQuorum, aSeed(volume(state.VolumePresent)), with(0, pod(state.PodStarting))),
			steps.Wait{Reason: v1beta2.ReasonMemberDown, Message: "No quorum answers. Members that hold data are running or starting: " + nameOf(0) + ", " + nameOf(1) + ", " + nameOf(2) + "."},
		},
	}.run(t)
}

func TestPlanRestoreSwitching(t *testing.T) {
	switching := restored(v1beta2.RestoreSwitching)
	planTests{
		"fences the old members while they serve": {
			stateWith(formed, members(3), switching, asked, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"adopts the seed beside old members that are fenced": {
			stateWith(formed, members(3), switching, asked, aSeed(serving), fencedBy("uid-back")), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"adopts the seed beside fenced members that answer no more": {
			stateWith(formed, members(3), noQuorum, with(1, withoutPod), with(2, withoutPod), switching, asked, aSeed(serving), fencedBy("uid-back")), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"returns to seeding, and so takes its fence back, if the seed does not serve any more": {
			stateWith(formed, members(3), switching, asked, aSeed(serving, func(m *state.Member) { m.Serving = false }), fencedBy("uid-back")), steps.ReturnToSeeding{},
		},
		"takes its fence back while it returns to seeding": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, func(m *state.Member) { m.Serving = false }), fencedBy("uid-back")), steps.UnfenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"takes the fence of another restore back, and not for its own": {
			stateWith(formed, members(3), switching, asked, aSeed(serving), fencedBy("another")), steps.UnfenceWrites{ID: etcd.FenceID("another")},
		},
		"stops the old members if no quorum of them answers": {
			stateWith(formed, members(3), noQuorum, switching, asked, aSeed(serving)), steps.StopMembers{Except: 2},
		},
		"stops the old members if one of them runs etcd 3.5, in which no fence holds": {
			stateWith(formed, members(3), with(1, running("3.5.26")), switching, asked, aSeed(serving)), steps.StopMembers{Except: 2},
		},
		"stops its own members beside foreign ones that may run etcd 3.5": {
			stateWith(formed, members(2), size(2), foreignVoters(1), switching, asked, aSeed(serving)), steps.StopMembers{Except: 2},
		},
		"fences no members for a seed that does not serve": {
			stateWith(formed, members(3), switching, asked, aSeed()), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"fences the old members if the EtcdRestore is deleted while they stop": {
			stateWith(formed, members(3), with(0, pod(state.PodDeleting)), with(1, pod(state.PodDeleting)), switching, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"returns to seeding if the EtcdRestore is deleted before a member has stopped": {
			stateWith(formed, members(3), switching, aSeed(serving)), steps.ReturnToSeeding{},
		},
		"adopts the seed beside one running voter of three and a learner: they are no quorum": {
			stateWith(formed, members(3), stopped, with(2, pod(state.PodRunning)), aLearner, switching, asked, aSeed(serving)), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"fences a voter and a learner that another party has promoted: they are a quorum": {
			stateWith(formed, members(2), size(2), with(1, withoutPod), promoted, switching, asked, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"adopts the seed beside Pods that wait until their members are added: no etcd runs there": {
			stateWith(formed, members(5), size(5), noQuorum, votersOf(3), with(0, withoutPod), with(1, withoutPod), with(3, ahead), with(4, ahead), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"stops running old members whose Pods have lost the annotation that they were added": {
			stateWith(formed, members(3), noQuorum, votersOf(3), with(0, lostAnnotation), with(1, lostAnnotation), switching, asked, aSeed(serving)), steps.StopMembers{Except: 2},
		},
		"does not wait until a Pod has stopped in which no etcd has run": {
			stateWith(formed, members(3), noQuorum, votersOf(2), stopped, with(2, ahead, func(m *state.Member) { m.Pod = state.PodDeleting }), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"fences foreign voters that it cannot stop": {
			stateWith(formed, members(1), size(1), foreignVoters(2), storage("3.6.0"), switching, asked, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"does not adopt the seed beside a quorum of foreign voters": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, withoutPod), switching, asked, aSeed(serving)),
			steps.Wait{
				Reason: v1beta2.ReasonForeignMember, Stalled: true,
				Message: "The operator did not add 2 of 3 old voters, so it cannot stop them. They may still accept writes, so seed " + seedName + " does not take over. The old members have stopped, so clients wait. " +
					"Stop them for good. Then annotate the EtcdCluster with etcd.database.coreos.com/stopped-foreign-members=0000000000000064,0000000000000065. To return to the old members, delete EtcdRestore back, then Pod " + seedName + ", and the PersistentVolumeClaim of that name.",
			},
		},
		"names all foreign voters for the annotation if it lists only some of them": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(4), with(0, withoutPod), switching, asked, aSeed(serving), foreignStopped),
			steps.Wait{
				Reason: v1beta2.ReasonForeignMember, Stalled: true,
				Message: "The operator did not add 2 of 5 old voters, so it cannot stop them. They may still accept writes, so seed " + seedName + " does not take over. The old members have stopped, so clients wait. " +
					"Stop them for good. Then annotate the EtcdCluster with etcd.database.coreos.com/stopped-foreign-members=0000000000000064,0000000000000065,0000000000000066,0000000000000067. To return to the old members, delete EtcdRestore back, then Pod " +
					seedName + ", and the PersistentVolumeClaim of that name.",
			},
		},
		"adopts the seed if an annotation states that the foreign voters have stopped": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, withoutPod), switching, asked, aSeed(serving), foreignStopped),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"waits for the last member beside foreign voters, even with the consent to remove them": {
			stateWith(formed, members(2), noQuorum, votersOf(2), foreignVoters(2), with(0, hasEnded), with(1, pod(state.PodDeleting)), switching, asked, aSeed(serving), removable),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Member " + nameOf(1) + " is stopping. Then the seed takes over."},
		},
		"does not accept that foreign voters have stopped if a quorum answers": {
			stateWith(formed, members(1), size(1), votersOf(1), foreignVoters(2), with(0, withoutPod), switching, asked, aSeed(serving), foreignStopped),
			steps.Wait{
				Reason: v1beta2.ReasonForeignMember, Stalled: true,
				Message: "The operator did not add 2 of 3 old voters, so it cannot stop them. They may still accept writes, so seed " + seedName + " does not take over. The old members have stopped, so clients wait. " +
					"Remove them with etcdctl member remove, those that have stopped first. To return to the old members, delete EtcdRestore back, then Pod " + seedName + ", and the PersistentVolumeClaim of that name.",
			},
		},
		"recreates a lost seed beside foreign voters": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, withoutPod), switching, asked), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"keeps the seed if the EtcdRestore is deleted, but 3 of 7 old voters are no quorum": {
			stateWith(formed, members(3), noQuorum, votersOf(3), foreignVoters(4), stopped, switching, aSeed(serving)),
			steps.Wait{
				Reason: v1beta2.ReasonForeignMember, Stalled: true,
				Message: "The operator did not add 4 of 7 old voters, so it cannot stop them. They may still accept writes, so seed " + seedName + " does not take over. The old members have stopped, so clients wait. " +
					"Stop them for good. Then annotate the EtcdCluster with etcd.database.coreos.com/stopped-foreign-members=0000000000000064,0000000000000065,0000000000000066,0000000000000067. To return to the old members, delete Pod " + seedName + ", and the PersistentVolumeClaim of that name.",
			},
		},
		"fails if the EtcdRestore and the seed are deleted, but 3 of 7 old voters are no quorum": {
			stateWith(formed, members(3), noQuorum, votersOf(3), foreignVoters(4), stopped, switching),
			steps.FailRestore{Message: "The seed was lost. EtcdRestore back was deleted. Only 3 of 7 voters of the old cluster have their data. Create an EtcdRestore with another name."},
		},
		"returns to seeding if the EtcdRestore has lost its status and a quorum serves": {
			stateWith(formed, members(3), switching, unverified, aSeed(serving)), steps.ReturnToSeeding{},
		},
		"stops no member while the EtcdRestore has lost its status and no quorum serves": {
			stateWith(formed, members(3), noQuorum, switching, unverified, aSeed(serving)),
			steps.Wait{
				Reason: v1beta2.ReasonRestoring, Stalled: true,
				Message: "EtcdRestore back has lost its status. The operator stops no member until restore-operator has verified it again. To cancel, delete the EtcdRestore.",
			},
		},
		"fences the old members if the EtcdRestore has lost its status while they stop": {
			stateWith(formed, members(3), with(0, pod(state.PodDeleting)), with(1, pod(state.PodDeleting)), switching, unverified, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"returns to seeding if the EtcdRestore is deleted while the members restart repeatedly": {
			stateWith(formed, members(3), noQuorum, with(0, blockedBy(v1beta2.ReasonPodFailing)), with(1, pod(state.PodStarting)), switching, aSeed(serving)), steps.ReturnToSeeding{},
		},
		"does not return to seeding if only foreign voters remain": {
			stateWith(formed, members(1), size(1), noQuorum, votersOf(1), foreignVoters(2), with(0, pod(state.PodDeleting)), switching, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Member " + nameOf(0) + " is stopping. Then the seed takes over."},
		},
		"adopts the seed beside a silent node if the foreign voters have stopped": {
			stateWith(formed, members(3), noQuorum, votersOf(3), foreignVoters(2), stopped, with(2, pod(state.PodDeleting), nodeDown), switching, asked, aSeed(serving), foreignStopped),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"does not wait for one of three beside a foreign learner: two of four are no quorum": {
			stateWith(formed, members(3), noQuorum, votersOf(3), foreignVoters(1), stopped, with(2, pod(state.PodDeleting)), switching, asked, aSeed(serving), func(s *state.State) { s.ForeignMembers[0].Learner = true }),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"adopts the seed beside one running voter of two if the foreign learner has stopped": {
			stateWith(formed, members(2), size(2), noQuorum, votersOf(2), foreignVoters(1), with(1, hasEnded), switching, asked, aSeed(serving), foreignStopped, func(s *state.State) { s.ForeignMembers[0].Learner = true }),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"returns to seeding if the EtcdRestore is deleted while no quorum answers": {
			stateWith(formed, members(3), noQuorum, switching, aSeed(serving)), steps.ReturnToSeeding{},
		},
		"does not offer to return to old members whose data was in their Pods": {
			stateWith(formed, members(3), ephemeral, stopped, switching, unverified),
			steps.Wait{
				Reason: v1beta2.ReasonRestoring, Stalled: true,
				Message: "The seed was lost. EtcdRestore back has lost its status. The operator restores the seed again when restore-operator has verified it. No voter of the old cluster has its data.",
			},
		},
		"waits to restore a lost seed again while its EtcdRestore has lost its status": {
			stateWith(formed, members(3), stopped, switching, unverified),
			steps.Wait{
				Reason: v1beta2.ReasonRestoring, Stalled: true,
				Message: "The seed was lost. EtcdRestore back has lost its status. The operator restores the seed again when restore-operator has verified it. To return to the old members, delete the EtcdRestore.",
			},
		},
		"keeps a blocked seed while its EtcdRestore has lost its status": {
			stateWith(formed, members(3), stopped, switching, unverified, aSeed(serving, blockedBy(v1beta2.ReasonPodFailing))),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Stalled: true, Message: "Seed " + seedName + " does not run: why. The restore continues when it serves."},
		},
		"stops a voter and a promoted learner while no quorum answers": {
			stateWith(formed, members(2), size(2), with(1, withoutPod), promoted, noQuorum, switching, asked, aSeed(serving)), steps.StopMembers{Except: 2},
		},
		"adopts the seed beside a running Pod of an earlier incarnation": {
			stateWith(formed, members(3), stopped, anEarlierOne, switching, asked, aSeed(serving)), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"stops no member while the seed does not serve": {
			stateWith(formed, members(3), switching, asked, aSeed(serving, silent)),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Seed " + seedName + " does not serve: its Pod is not ready."},
		},
		"waits while two of three old members may run: they are a quorum": {
			stateWith(formed, members(3), stopped, with(1, pod(state.PodDeleting)), with(2, pod(state.PodDeleting)), switching, asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Member " + nameOf(1) + " is stopping. Then the seed takes over."},
		},
		"does not wait for the last of three old members: one is no quorum": {
			stateWith(formed, members(3), stopped, with(2, pod(state.PodDeleting)), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"waits for a member that may run beside a member whose node is dead": {
			stateWith(formed, members(3), stopped, with(1, overdue), with(2, pod(state.PodDeleting)), switching, asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Member " + nameOf(2) + " is stopping. Then the seed takes over."},
		},
		"waits until the only member has stopped": {
			stateWith(formed, members(1), size(1), stopped, with(0, pod(state.PodDeleting)), switching, asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Member " + nameOf(0) + " is stopping. Then the seed takes over."},
		},
		"does not wait for the objects of Pods that have stopped": {
			stateWith(formed, members(3), stopped, with(2, pod(state.PodDeleting), func(m *state.Member) { m.Stopped = true }), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"does not wait for the object of an ended Pod that the API server refuses to delete": {
			stateWith(formed, members(3), stopped, with(1, pod(state.PodEnded)), refusedToDelete(1), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"fences the old members beside an ended Pod that the API server refuses to delete": {
			stateWith(formed, members(3), with(1, pod(state.PodEnded)), refusedToDelete(1), switching, asked, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"reports a lost seed whose Pod fails again and again": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(serving, rejectedSeed), seedFailures(3)), rejected(4),
		},
		"returns to the old members if the Pod of a lost seed has failed 12 times in a row": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(serving, rejectedSeed), seedFailures(11)),
			steps.FailRestore{Message: "The Pod of seed " + seedName + " failed 12 times in a row: OutOfcpu." + restore.OldContinue},
		},
		"returns to the old members if no node can run a lost seed for more than 15 min": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(serving, blockedBy(v1beta2.ReasonPodUnschedulable), unreadySince(16*time.Minute))),
			steps.FailRestore{Message: "Seed " + seedName + " has not started for 15m0s: why." + restore.OldContinue},
		},
		"keeps a seed that does not start if the old members had their data in their Pods": {
			stateWith(formed, members(3), ephemeral, stopped, switching, asked, aSeed(serving, blockedBy(v1beta2.ReasonPodUnschedulable), unreadySince(16*time.Minute))),
			steps.Wait{
				Reason:  v1beta2.ReasonRestoring,
				Message: "Seed " + seedName + " has not started for 15m0s: why." + keptInPod + " To restore it again from the snapshot, delete Pod " + seedName + ".", Stalled: true,
			},
		},
		"adopts the seed beside one running member of three: it is no quorum": {
			stateWith(formed, members(3), stopped, with(2, pod(state.PodRunning)), switching, asked, aSeed(serving)), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"stops two of three old members: they are a quorum": {
			stateWith(formed, members(3), stopped, with(1, pod(state.PodRunning)), with(2, pod(state.PodDeleting)), switching, asked, aSeed(serving)), steps.StopMembers{Except: 2},
		},
		"fences the only member": {
			stateWith(formed, members(1), size(1), switching, asked, aSeed(serving)), steps.FenceWrites{ID: etcd.FenceID("uid-back")},
		},
		"keeps a seed that does not start if its EtcdRestore is deleted and old data was in Pods": {
			stateWith(formed, members(3), ephemeral, stopped, switching, aSeed(serving, blockedBy(v1beta2.ReasonPodFailing))),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "The seed does not start. EtcdRestore back was deleted." + keptInPod + " If Pod " + seedName + " has started, it has data. This data is lost if you delete the Pod.", Stalled: true},
		},
		"keeps a seed that does not start if only one of three old volumes is left": {
			stateWith(formed, members(3), stopped, with(1, gone), with(2, gone), switching, aSeed(serving, blockedBy(v1beta2.ReasonPodFailing))),
			steps.Wait{
				Reason: v1beta2.ReasonRestoring, Stalled: true,
				Message: "The seed does not start. EtcdRestore back was deleted. Only 1 of 3 voters of the old cluster have their data, so the operator keeps the seed. To start it again, delete Pod " +
					seedName + ". To give up its data, delete the PersistentVolumeClaim of that name, too.",
			},
		},
		"does not report that old members continue if they have no data": {
			stateWith(formed, members(3), ephemeral, stopped, switching),
			steps.FailRestore{Message: "The seed was lost. EtcdRestore back was deleted. No voter of the old cluster has its data. Create an EtcdRestore with another name."},
		},
		"returns to the old members if the ended Pod of a lost seed cannot be deleted for 16 min": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(serving, rejectedSeed, unreadySince(16*time.Minute)), seedIsRefused),
			steps.FailRestore{Message: "The Pod of seed " + seedName + " has ended, and has not been replaced for 15m0s: OutOfcpu. The API server refuses to delete it." + restore.OldContinue},
		},
		"does not wait for one old member whose node is dead": {
			stateWith(formed, members(3), stopped, with(2, overdue), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"does not wait for one old member whose node was dead before the member was stopped": {
			stateWith(formed, members(3), stopped, with(2, pod(state.PodDeleting), nodeDown), switching, asked, aSeed(serving)),
			steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"asks a person if the nodes of two old members are dead: they are a quorum": {
			stateWith(formed, members(3), stopped, with(1, overdue), with(2, overdue), switching, asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(1)), Stalled: true},
		},
		"waits for every old member if the old voters are not recorded": {
			stateWith(formed, members(3), stopped, func(s *state.State) { s.KnownVoters = nil }, with(2, overdue), switching, asked, aSeed(serving)),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(2)), Stalled: true},
		},
		"restarts no old member when the seed takes over": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(serving)), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"restarts the seed on its volume if its EtcdRestore is deleted": {
			stateWith(formed, members(3), stopped, switching, aSeed(volume(state.VolumePresent))), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartRejoin},
		},
		"recreates the Pod of a seed with its init container if its EtcdRestore exists": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(volume(state.VolumePresent))), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"restores a lost seed again": {
			stateWith(formed, members(3), stopped, switching, asked), steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"returns to the old members if a lost seed cannot be restored again": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(failed(state.Seed{Failures: 1, Hopeless: true, Message: seedFailed}))),
			steps.FailRestore{Message: "The seed was lost, and could not be restored again: " + seedFailed + "." + restore.OldContinue},
		},
		"returns to the old members if the EtcdRestore of a lost seed is deleted": {
			stateWith(formed, members(3), stopped, switching), steps.FailRestore{Message: "The seed was lost. EtcdRestore back was deleted." + restore.OldContinue},
		},
		"returns to the old members if the seed does not start and its EtcdRestore is deleted": {
			stateWith(formed, members(3), stopped, switching, aSeed(serving, blockedBy(v1beta2.ReasonPodFailing))),
			steps.FailRestore{Message: "The seed does not start. EtcdRestore back was deleted." + restore.OldContinue},
		},
		"returns to the old members if the seed has a lower revision than was proven": {
			stateWith(formed, members(3), stopped, switching, asked, aSeed(serving, func(m *state.Member) { m.Revision = 42 })),
			steps.FailRestore{Message: "The seed was lost. After another restore it holds revision 42 instead of 1000000042." + restore.OldContinue},
		},
		"restarts the old members after the restore has failed": {
			stateWith(formed, members(3), stopped, restored(v1beta2.RestoreFailed), asked), steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
	}.run(t)
}

// Without this, a restore that fails before its volume is detected gives its incarnation to the next one. The next seed then finds
// the data of the first, and serves the wrong snapshot.
func TestTwoRestoresNeverShareAnIncarnation(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreFailed), askedAnother)
	if begin, is := Plan(s).(steps.BeginRestore); !is || begin.Restore.Incarnation != 3 {
		t.Errorf("got %+v, want a restore into incarnation 3", Plan(s))
	}
}

func TestPlanRestoreGrowing(t *testing.T) {
	growing := restored(v1beta2.RestoreGrowing)
	knows := func(s *state.State) { s.MembershipKnown = true }
	next := state.MemberName("example", "uid-example", 2, 1)
	planTests{
		"first lets the client Service select the seed": {
			stateWith(formed, members(3), stopped, growing, servicesFor(1, oldID), knows, aSeed(serving, inSeedMembership)),
			steps.ApplyServices{Incarnation: 2, ClusterID: seedID, RestoreUID: "uid-back"},
		},
		"grows by learners, and keeps the old volumes": {
			stateWith(formed, members(3), stopped, growing, asked, knows, with(0, removed), with(1, removed), with(2, removed), aSeed(serving, inSeedMembership)),
			steps.CreateMember{Name: next, Incarnation: 2, Start: state.StartJoin, Waits: true},
		},
		"recreates the seed's Pod without the credentials when the cluster has its size": {
			stateWith(size(1), formed, members(3), stopped, growing, asked, knows, with(0, removed), with(1, removed), with(2, removed), aSeed(serving, inSeedMembership)),
			steps.DeletePod{Name: seedName, Reason: v1beta2.ReasonRestoring, Message: "it must run without the init container that restored it"},
		},
		"replaces the seed at size if its data is in the Pod that has the credentials": {
			stateWith(size(1), formed, growing, asked, knows, aSeed(serving, inSeedMembership), ephemeral),
			steps.AddLearner{Name: next, PeerURL: "http://" + next + ".example.ns.svc:2380"},
		},
		"sets the old volumes aside when the cluster has its size": {
			stateWith(size(1), formed, members(3), stopped, growing, asked, knows, with(0, removed), with(1, removed), with(2, removed), aSeed(serving, inSeedMembership, rejoined)),
			steps.SetAsideVolume{Name: nameOf(0)},
		},
		"deletes the old volumes at size if the spec does not keep them": {
			stateWith(size(1), formed, members(3), stopped, growing, asked, knows, with(0, removed), with(1, removed), with(2, removed), aSeed(serving, inSeedMembership, rejoined), keeping(0)),
			steps.DeleteVolume{Name: nameOf(0), Reason: v1beta2.ReasonScaling},
		},
		"waits until the old volumes are deleted": {
			stateWith(size(1), formed, members(1), stopped, growing, asked, knows, with(0, removed, volume(state.VolumeDeleting)), aSeed(serving, inSeedMembership, rejoined)),
			steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "The volume of old member " + nameOf(0) + " is being deleted."},
		},
		"force-deletes the Pod of an old member on a dead node when the cluster is healthy": {
			stateWith(size(1), formed, members(1), stopped, growing, asked, knows, with(0, removed, overdue), aSeed(serving, inSeedMembership, rejoined)),
			steps.ForceDeletePod{Name: nameOf(0)},
		},
		"is complete when the cluster is healthy and has nothing of the old members": {
			stateWith(size(1), formed, growing, asked, knows, aSeed(serving, inSeedMembership, rejoined)), steps.CompleteRestore{},
		},
		"does not recreate the seed of an earlier release after the restore is complete": {
			stateWith(size(1), formed, restored(v1beta2.RestoreComplete), asked, knows, aSeed(serving, inSeedMembership)), steps.Done{},
		},
		"completes the same EtcdRestore if the status was lost, and does not run it again": {
			stateWith(size(1), formed, growing, asked, knows, aSeed(serving, inSeedMembership, rejoined), lostStatus), steps.CompleteRestore{},
		},
		"runs another EtcdRestore if the status was lost": {
			stateWith(size(1), formed, growing, askedAnother, knows, aSeed(serving, inSeedMembership), lostStatus),
			steps.BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
				Name: "again", UID: "uid-again", Step: v1beta2.RestoreSeeding, Message: "The operator is restoring a seed. The members continue to serve.",
				Incarnation: 3, ClusterIDBefore: seedID, RevisionBefore: 1000000042,
			}},
		},
		"keeps the UID of the earlier EtcdRestore on the Service while another one is under way": {
			stateWith(size(1), formed, growing, askedAnother, knows, aSeed(serving, inSeedMembership), func(s *state.State) {
				s.Services.HeadlessCurrent = false
				s.Restore = &v1beta2.ClusterRestoreStatus{UID: "uid-again", Step: v1beta2.RestoreSeeding, Incarnation: 3}
			}),
			steps.ApplyServices{Incarnation: 2, ClusterID: seedID, RestoreUID: "uid-back"},
		},
		"begins another restore if the first is deleted before the cluster has its size": {
			stateWith(size(1), formed, growing, askedAnother, aSeed()),
			steps.BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
				Name: "again", UID: "uid-again", Step: v1beta2.RestoreSeeding, Message: "The operator is restoring a seed. The members continue to serve.",
				Incarnation: 3, ClusterIDBefore: seedID, RevisionBefore: 1000000042,
			}},
		},
	}.run(t)
}

// overdue: its Pod should have stopped a minute ago, and its node does not confirm that.
func overdue(m *state.Member) {
	pod(state.PodDeleting)(m)
	m.GoneBy = noon.Add(-time.Minute)
}

func nodeDown(m *state.Member) { m.NodeSilent = true }

// rejectedSeed: the seed's node had no room for it.
func rejectedSeed(m *state.Member) {
	pod(state.PodEnded)(m)
	m.PodMessage = "OutOfcpu"
}

// seedFailures: N Pods of the seed failed before, the last one at noon.
func seedFailures(n int32) change {
	return func(s *state.State) {
		s.PodFailures = []v1beta2.PodFailure{{Name: seedName, Count: n, LastTime: metav1.NewTime(noon)}}
	}
}

// rejected returns the wait before the Pod of a seed is recreated.
func rejected(times int) steps.Step {
	s := stateWith(restored(v1beta2.RestoreSeeding), aSeed(serving, rejectedSeed), seedFailures(int32(times-1)))
	return waits.WaitForAttempt(s, s.Members)
}

// refusedToDelete: the API server refuses to delete the object of the i-th member's Pod, which has ended.
func refusedToDelete(i int) change {
	return func(s *state.State) {
		var repeats Repeats
		s.Held = append(s.Held, repeats.Refused(*s, steps.DeletePod{Name: nameOf(i)}, "a webhook"))
	}
}

func unreadySince(ago time.Duration) func(*state.Member) {
	return func(m *state.Member) { m.PodReady, m.UnreadySince = false, noon.Add(-ago) }
}

func TestTheStatusSaysHowFarARestoreIs(t *testing.T) {
	seeding := func(seed state.Seed) state.State {
		return stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, aSeed(serving, pod(state.PodStarting), func(m *state.Member) { m.Seed = &seed }))
	}
	for name, test := range map[string]struct {
		state  state.State
		before int32
		want   int32
	}{
		"rounds down to steps of 5 %":                              {seeding(state.Seed{Percent: 48}), 0, 45},
		"never decreases":                                          {seeding(state.Seed{}), 45, 45},
		"reports 100 % at the end of the download":                 {seeding(state.Seed{DoneAt: noon}), 45, 100},
		"reports the share of the members while the cluster grows": {stateWith(restored(v1beta2.RestoreGrowing), aSeed(serving, inSeedMembership)), 100, 33},
		"reports 100 % at the switch":                              {stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), aSeed(serving)), 45, 100},
	} {
		t.Run(name, func(t *testing.T) {
			test.state.Restore.Percent = test.before
			if got := NewStatus(test.state, steps.Wait{}, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.Percent; got != test.want {
				t.Errorf("%d %%, want %d %%", got, test.want)
			}
		})
	}
}

// backup-operator stops its archiver if the status lists no client URL, and gives it 10 seconds to upload the rest. So the status
// must have the URL of the seed as soon as it has its cluster ID.
func TestTheAdoptedSeedIsRecordedWithItsClientURL(t *testing.T) {
	for name, old := range map[string]func(*state.State){"with the old members": members(3), "after the loss of all old members": func(*state.State) {}} {
		s := stateWith(formed, old, stopped, restored(v1beta2.RestoreSwitching), aSeed(serving), asked)
		seed, _ := state.SeedMember(s)
		status := NewStatus(s, steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}, nil, v1beta2.EtcdClusterStatus{}, 1)
		i := slices.IndexFunc(status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == seed.Name })
		if i < 0 || status.MemberStatuses[i].ClientURL != state.ClientURL(s, seed.Name) {
			t.Errorf("%s: the status has %+v, want %s", name, status.MemberStatuses, state.ClientURL(s, seed.Name))
		}
	}
}

func TestARestoreThatIsDeletedTooLateSaysSo(t *testing.T) {
	const late = "too late to undo it"
	done := steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}
	for _, deleted := range []bool{true, false} {
		s := stateWith(formed, members(3), stopped, restored(v1beta2.RestoreSwitching), aSeed(serving))
		if !deleted {
			asked(&s)
		}
		said := NewStatus(s, done, nil, v1beta2.EtcdClusterStatus{}, 1).Restore.Message
		if strings.Contains(said, late) != deleted || strings.Contains(steps.Describe(s, done).Message, late) != deleted {
			t.Errorf("deleted %v: %q", deleted, said)
		}
	}
}

// lostStatus: the status is lost, and the client Service still exists.
func lostStatus(s *state.State) {
	s.ClusterID, s.Incarnation, s.Restore, s.Recovery = "", 0, nil, nil
	state.RecogniseFormed(s)
}

// rejoined: its Pod was recreated.
func rejoined(m *state.Member) { m.Start, m.Seed = state.StartRejoin, nil }

// A survivor that was restarted with --force-new-cluster acknowledges writes alone.
func TestASwitchWaitsForASurvivorThatWasForced(t *testing.T) {
	forced := func(m *state.Member) { m.Start = state.StartForce }
	s := stateWith(formed, members(3), stopped, with(2, pod(state.PodDeleting), forced), restored(v1beta2.RestoreSwitching), asked, aSeed(serving))
	if wait, is := restore.OldMemberStops(s).(steps.Wait); !is || wait.Message != "Member "+nameOf(2)+" is stopping. Then the seed takes over." {
		t.Errorf("step %+v", restore.OldMemberStops(s))
	}
}

// A restore began before the operator had detected that the survivor served alone, and removed the flag. The record still had three
// voters, so the seed took over while the survivor acknowledged writes.
func TestASwitchWaitsForASurvivorWhoseFlagWasTakenOff(t *testing.T) {
	rejoins := func(m *state.Member) { m.Start = state.StartRejoin }
	switching := func(changes ...change) state.State {
		s := stateWith(append([]change{formed, members(3), stopped, with(2, pod(state.PodDeleting), rejoins), restored(v1beta2.RestoreSwitching), asked, aSeed(serving)}, changes...)...)
		return s
	}
	planTests{
		"waits for the survivor: it is a quorum of its cluster of one": {
			switching(forcing(2)), steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "Member " + nameOf(2) + " is stopping. Then the seed takes over."},
		},
		"asks a person if the node of the survivor does not confirm that it has stopped": {
			switching(forcing(2), with(2, overdue)), steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(2)), Stalled: true},
		},
		"does not wait for a member that is not the survivor": {
			switching(forcing(1)), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"does not wait for the survivor of a complete recovery": {
			switching(forcing(2), func(s *state.State) { s.Recovery.Step = v1beta2.RecoveryComplete }), steps.AdoptSeed{ClusterID: seedID, Incarnation: 2},
		},
		"does not begin the switch if the survivor is on a silent node": {
			stateWith(formed, members(3), noQuorum, with(2, silent, nodeDown, rejoins), with(0, gone), with(1, gone), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), forcing(2)),
			restore.Unstoppable(stateWith(formed, members(3), noQuorum, with(2, silent, nodeDown, forced), with(0, gone), with(1, gone), restored(v1beta2.RestoreSeeding), asked, aSeed(serving), forcing(2))),
		},
	}.run(t)
}

// namedDefault: two foreign voters have etcd's default name, and an annotation states that one of that name has stopped.
func namedDefault(s *state.State) {
	for i := range s.ForeignMembers {
		s.ForeignMembers[i].Name = "default"
	}
	s.Asked.StoppedForeign = []string{"default"}
}

// hasEnded: the kubelet has reported that nothing of the Pod runs any more.
func hasEnded(m *state.Member) {
	m.Pod, m.Stopped, m.Answers, m.Serving = state.PodDeleting, true, false, false
}

// refusesRestore: the members serve, and authentication refuses the operator.
func refusesRestore(s *state.State) {
	s.MembershipKnown = false
	for i := range s.Members {
		s.Members[i].Serving, s.Members[i].Guarded = false, true
	}
}

// stopThem asks a person to stop two foreign voters before the switch, if no quorum answers.
var stopThem = askAbout("Stop them for good. Then annotate the EtcdCluster with etcd.database.coreos.com/stopped-foreign-members=0000000000000064,0000000000000065.")

func askAbout(how string) steps.Wait {
	return steps.Wait{
		Reason: v1beta2.ReasonForeignMember, Stalled: true,
		Message: "The seed of EtcdRestore back serves. The operator did not add 2 of 3 old voters, so it cannot stop them. They may still accept writes, so the restore does not continue. " +
			how + " To cancel, delete the EtcdRestore.",
	}
}

// unreached: the Pods of the members are ready, and no member answers the operator.
func unreached(s *state.State) {
	s.MembershipKnown = false
	for i := range s.Members {
		s.Members[i].Answers, s.Members[i].Serving, s.Members[i].SilentSince = false, false, noon.Add(-time.Minute)
	}
}

// unverified: the EtcdRestore under way has lost its status.
func unverified(s *state.State) { s.RestoreUnverified = true }

// Without this, a person waits for a restore that has ended.
func TestAReturnToSeedingSaysWhetherTheRestoreContinues(t *testing.T) {
	for want, s := range map[string]state.State{
		"It checks the seed and the safety snapshot again.":       stateWith(formed, restored(v1beta2.RestoreSwitching), asked),
		"EtcdRestore back was deleted. The restore ends.":         stateWith(formed, restored(v1beta2.RestoreSwitching)),
		"EtcdRestore back has lost its status. The restore ends.": stateWith(formed, restored(v1beta2.RestoreSwitching), unverified),
	} {
		if said := steps.Describe(s, steps.ReturnToSeeding{}).Message; !strings.HasSuffix(said, want) {
			t.Errorf("%q does not end with %q", said, want)
		}
	}
}

// An answer of old members from just before the switch put them back into the status. If the seed did not answer in the next pass, the
// status reported a lost quorum and a seed without a vote.
func TestTheStatusListsOnlyTheSeedWhenItTakesOver(t *testing.T) {
	s := stateWith(formed, members(3), restored(v1beta2.RestoreSwitching), asked, aSeed(serving))
	status := NewStatus(s, steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}, nil, v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1)
	if len(status.MemberStatuses) != 1 || status.MemberStatuses[0].Name != seedName || status.ReadyMembers != "1/3" || len(status.Members.Ready) != 1 {
		t.Errorf("the status lists %+v, %+v ready", status.MemberStatuses, status.ReadyMembers)
	}
	status = NewStatus(s, steps.AdoptSeed{ClusterID: seedID, Incarnation: 2}, errors.New("refused"), v1beta2.EtcdClusterStatus{Restore: s.Restore}, 1)
	if len(status.MemberStatuses) != 3 {
		t.Errorf("after an error the status lists %+v", status.MemberStatuses)
	}
}

package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

const (
	noHost     = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules"
	noWayDown  = "The data of the members is in their Pods (emptyDir), so an upgrade or downgrade replaces them. etcd accepts no new member while it converts its data to 3.5. Set spec.version to 3.6.16 again. The members keep their version until then."
	takesPlace = ". It replaces member "
)

// allOutdated: spec.pod or spec.TLS has changed, so every Pod is outdated.
func allOutdated(s *state.State) {
	for i := range s.Members {
		s.Members[i].Outdated = true
	}
}

func upToDate(m *state.Member) { m.Outdated = false }

// secureOnly: the members use TLS, and keep the CA that they trust.
func secureOnly(s *state.State) {
	for i := range s.Members {
		s.Members[i].SecurePeer, s.Members[i].SecureClient = true, true
	}
}

func leads(m *state.Member) { m.Leader = true }

func follows(m *state.Member) { m.Leader = false }

// unplaced: its Pod fits on no node.
func unplaced(m *state.Member) {
	justAdded(m)
	blockedBy(v1beta2.ReasonPodUnschedulable)(m)
	m.PodMessage = noHost
	joining(4)(m)
}

// TestPlanReplaceStale: if the data of a member is in its Pod, the operator replaces the member and does not recreate the Pod.
func TestPlanReplaceStale(t *testing.T) {
	old := everyImage("3.6.15")
	add := func(i int) steps.Step { return steps.AddLearner{Name: nameOf(i), PeerURL: peerURLOf(i)} }
	remove := func(i int) steps.Step {
		return steps.RemoveMember{ID: stateWith(members(5)).Members[i].ID, Name: nameOf(i), Cause: state.PodRecreated}
	}
	planTests{
		"adds a learner before it removes a member with an outdated Pod": {
			stateWith(formed, members(3), with(2, outdated), ephemeral), add(3),
		},
		"adds a learner to replace members with another image": {
			stateWith(formed, members(3), old, ephemeral), add(3),
		},
		"adds a learner to replace members with an image of another repository": {
			stateWith(formed, members(3), ephemeral, func(s *state.State) { s.Spec.Repository = "mirror/etcd" }), add(3),
		},
		"adds a learner to replace a member that trusts the former CA": {
			stateWith(formed, members(3), managed, with(1, func(m *state.Member) { m.Trust = "former" }), ephemeral),
			steps.AddLearner{Name: nameOf(3), PeerURL: "https" + strings.TrimPrefix(peerURLOf(3), "http")},
		},
		"adds a learner to replace the only member": {
			stateWith(size(1), formed, members(1), old, ephemeral), add(1),
		},
		"promotes the learner before it removes a member": {
			stateWith(formed, members(3), allOutdated, with(3, learner), promoting(3), ephemeral), steps.PromoteLearner{ID: 4, Name: nameOf(3)},
		},
		"removes no member while the learner is catching up": {
			stateWith(formed, members(3), allOutdated, with(3, learner, pod(state.PodStarting)), ephemeral),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + nameOf(3) + " is catching up with the leader."},
		},
		"removes the newest outdated member once an up-to-date one has been added": {
			stateWith(formed, members(4), allOutdated, with(3, upToDate), ephemeral), remove(2),
		},
		"removes an outdated follower before the outdated leader": {
			stateWith(formed, members(4), allOutdated, with(2, upToDate), with(3, upToDate), ephemeral), remove(1),
		},
		"moves leadership to an up-to-date member before it removes the leader": {
			stateWith(formed, members(4), with(0, outdated), ephemeral), steps.MoveLeader{From: nameOf(0), To: 2, Name: nameOf(1)},
		},
		"removes the former leader after leadership has moved": {
			stateWith(formed, members(4), with(0, outdated, follows), with(1, leads), ephemeral), remove(0),
		},
		"removes the former leader to return from two members to one": {
			stateWith(size(1), formed, members(2), with(0, outdated, follows), with(1, leads), ephemeral), remove(0),
		},
		"adds the next learner once the first outdated member is removed": {
			stateWith(formed, members(3), allOutdated, with(1, upToDate), ephemeral), add(3),
		},
		"adds no member while another one is starting": {
			stateWith(formed, members(3), allOutdated, with(1, pod(state.PodStarting)), ephemeral),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + nameOf(1) + " is starting."},
		},
		"removes a learner that is outdated": {
			stateWith(formed, members(3), allOutdated, with(3, learner, outdated), ephemeral), remove(3),
		},
		"removes the learner if the change of the spec is undone": {
			stateWith(formed, members(3), with(3, learner), ephemeral), steps.RemoveMember{ID: 4, Name: nameOf(3)},
		},
		"adds a learner if it must both scale up and replace members": {
			stateWith(size(4), formed, members(3), allOutdated, ephemeral), add(3),
		},
		"removes an outdated member first if it scales down": {
			stateWith(formed, members(5), with(1, outdated), ephemeral), remove(1),
		},
		"reports that the replacement of an outdated member cannot be scheduled": {
			stateWith(formed, members(3), with(1, outdated), with(3, unplaced), ephemeral),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Stalled: true, Message: "Member " + nameOf(3) + " cannot be scheduled: " + noHost + takesPlace + nameOf(1) +
				", because its Pod must be recreated and its data would be deleted with it. Quorum holds (3 of 3). Until then all members need a node of their own. Add a node, or undo the change in the spec."},
		},
		"reports that the replacement for a deleted volume cannot be scheduled": {
			stateWith(formed, members(3), with(1, volume(state.VolumeDeleting)), with(3, unplaced)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Stalled: true, Message: "Member " + nameOf(3) + " cannot be scheduled: " + noHost + takesPlace + nameOf(1) +
				", because its volume is being deleted. Quorum holds (3 of 3). Until then all members need a node of their own. Add a node."},
		},
		"replaces a member whose image cannot be pulled if the spec asks for another image": {
			stateWith(formed, members(3), with(1, blockedBy(v1beta2.ReasonImageUnavailable), unreadyFor(time.Hour)), ephemeral, func(s *state.State) { s.Spec.Repository = "mirror/etcd" }),
			steps.RemoveMember{ID: 2, Name: nameOf(1), Cause: isDead},
		},
		"moves members from emptyDir to volumes": {
			stateWith(formed, members(3), allOutdated, ephemeral, func(s *state.State) { s.Spec.Pod = nil }), add(3),
		},
		"moves members from emptyDir to volumes before it hibernates": {
			stateWith(formed, members(3), allOutdated, ephemeral, func(s *state.State) { s.Spec.Pod, s.Spec.Hibernate = nil, true }), add(3),
		},
		"lets no drain take the only member before its data is on a volume": {
			stateWith(size(1), formed, members(1), allOutdated, ephemeral, func(s *state.State) { s.Spec.Pod, s.Budget = nil, budgetOf(0) }),
			steps.ApplyBudget{Incarnation: 1, MinAvailable: 1},
		},
		"restarts no member for another CA without quorum, and asks for the previous CA": {
			stateWith(formed, managed, members(1), size(1), noQuorum, with(0, unreadyFor(time.Hour), func(m *state.Member) { m.Trust, m.Loaded = "former", "certificates" }), ephemeral, secureOnly),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Stalled: true, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + nameOf(0) +
				". The operator removes nothing. Recover these members. Their data is in the Pods, and a restart would delete it. Put the previous CA back into the TLS Secrets. To continue from a snapshot, apply an EtcdRestore."},
		},
		"moves members from volumes to emptyDir": {
			stateWith(formed, members(3), ephemeral, func(s *state.State) {
				allOutdated(s)
				for i := range s.Members {
					s.Members[i].Volume = state.VolumePresent
				}
			}), add(3),
		},
	}.run(t)
}

// TestPlanReplaceStaleVersion: the rules about versions are the same as for members on volumes.
func TestPlanReplaceStaleVersion(t *testing.T) {
	up, down := ofVersion("3.7.3"), ofVersion("3.5.35")
	add := steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)}
	planTests{
		"replaces no member if the version is refused": {
			stateWith(formed, members(3), ofVersion("3.8.0"), ephemeral),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
		"replaces no member for a changed spec.pod while the version is refused": {
			stateWith(formed, members(3), allOutdated, ofVersion("3.8.0"), ephemeral),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
		"prepares the data before a member with 3.7 joins": {
			stateWith(formed, members(3), up, data("3.6.0", ""), ephemeral), steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"does not cancel the preparation, although members must be replaced after it": {
			stateWith(formed, members(3), up, data("3.5.0", "3.5.0"), preparedFor("3.7", v1beta2.VersionChangePreparing), ephemeral),
			steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeSnapshotted, Index: 40},
		},
		"adds a member with 3.7 once the data is ready": {
			stateWith(formed, members(3), up, data("3.6.0", ""), preparedFor("3.7", v1beta2.VersionChangeReady), ephemeral), add,
		},
		"continues the upgrade if one member runs 3.7": {
			stateWith(formed, members(3), up, data("3.6.0", ""), with(1, withImage("3.7.3")), ephemeral), add,
		},
		"returns to 3.5 if one member already runs 3.6": {
			stateWith(formed, members(3), everyImage("3.5.35"), down, with(1, withImage("3.6.16")), ephemeral), add,
		},
		"refuses a downgrade to an older minor version, because no member could join": {
			stateWith(formed, members(3), down, data("3.6.0", ""), ephemeral), steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: noWayDown, Stalled: true},
		},
		"cancels a downgrade that has begun": {
			stateWith(formed, members(3), down, data("3.5.0", "3.5.0"), ephemeral), steps.CancelDowngrade{From: "3.5"},
		},
	}.run(t)
}

func TestANewMemberGetsTheVersionThatIsReplacedTo(t *testing.T) {
	tests := map[string]struct {
		state state.State
		want  string
	}{
		"the version of the spec":                                {stateWith(formed, members(3), ofVersion("3.6.17"), with(3, justAdded), ephemeral), "3.6.17"},
		"the old version before the data is prepared":            {stateWith(formed, members(3), ofVersion("3.7.3"), with(3, justAdded), ephemeral), "3.6.16"},
		"the version of the spec once the data is prepared":      {stateWith(formed, members(3), ofVersion("3.7.3"), preparedFor("3.7", v1beta2.VersionChangeReady), with(3, justAdded), ephemeral), "3.7.3"},
		"the old version if no member can join with the new one": {stateWith(formed, members(3), ofVersion("3.5.35"), with(3, justAdded), ephemeral), "3.6.16"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.state.ImageFor(1); got != v1beta2.DefaultRepository+":v"+test.want {
				t.Errorf("ImageFor = %s, want %s", got, test.want)
			}
		})
	}
}

func TestALearnerThatTakesAPlaceSaysWhose(t *testing.T) {
	s := stateWith(formed, members(3), with(1, outdated), ephemeral)
	want := "The operator is adding member " + nameOf(3) + " to replace member " + nameOf(1) + ", because its Pod must be recreated and its data would be deleted with it."
	if got := steps.Describe(s, Plan(s)).Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := steps.Describe(stateWith(formed, members(3), size(4)), steps.AddLearner{Name: "x"}).Message; strings.Contains(got, "place") {
		t.Errorf("message %q of a cluster that grows", got)
	}
}

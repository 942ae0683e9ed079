package membership_test

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

const (
	noHost     = "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules"
	noWayDown  = "The data of the members is in their Pods (emptyDir), so an upgrade or downgrade replaces them. etcd accepts no new member while it converts its data to 3.5. Set spec.version to 3.6.16 again. The members keep their version until then."
	takesPlace = ". It replaces member "
)

// secureOnly: the members use TLS, and keep the CA that they trust.
func secureOnly(s *state.State) {
	for i := range s.Members {
		s.Members[i].SecurePeer, s.Members[i].SecureClient = true, true
	}
}

func follows(m *state.Member) { m.Leader = false }

// unplaced: its Pod fits on no node.
func unplaced(m *state.Member) {
	plantest.JustAdded(m)
	plantest.BlockedBy(v1beta2.ReasonPodUnschedulable)(m)
	m.PodMessage = noHost
	plantest.Joining(4)(m)
}

// TestPlanReplaceStale: if the data of a member is in its Pod, the operator replaces the member and does not recreate the Pod.
func TestPlanReplaceStale(t *testing.T) {
	old := plantest.EveryImage("3.6.15")
	add := func(i int) steps.Step {
		return steps.AddLearner{Name: plantest.NameOf(i), PeerURL: plantest.PeerURLOf(i)}
	}
	remove := func(i int) steps.Step {
		return steps.RemoveMember{ID: plantest.StateWith(plantest.Members(5)).Members[i].ID, Name: plantest.NameOf(i), Cause: state.PodRecreated}
	}
	plantest.Plans{
		"adds a learner before it removes a member with an outdated Pod": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(2, plantest.Outdated), plantest.Ephemeral), add(3),
		},
		"adds a learner to replace members with another image": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), old, plantest.Ephemeral), add(3),
		},
		"adds a learner to replace members with an image of another repository": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, func(s *state.State) { s.Spec.Repository = "mirror/etcd" }), add(3),
		},
		"adds a learner to replace a member that trusts the former CA": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Managed, plantest.With(1, func(m *state.Member) { m.Trust = "former" }), plantest.Ephemeral),
			steps.AddLearner{Name: plantest.NameOf(3), PeerURL: "https" + strings.TrimPrefix(plantest.PeerURLOf(3), "http")},
		},
		"adds a learner to replace the only member": {
			plantest.StateWith(plantest.Size(1), plantest.Formed, plantest.Members(1), old, plantest.Ephemeral), add(1),
		},
		"promotes the learner before it removes a member": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.With(3, plantest.Learner), promoting(3), plantest.Ephemeral), steps.PromoteLearner{ID: 4, Name: plantest.NameOf(3)},
		},
		"removes no member while the learner is catching up": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.With(3, plantest.Learner, plantest.Pod(state.PodStarting)), plantest.Ephemeral),
			steps.Wait{Reason: v1beta2.ReasonScaling, Requeue: state.RequeueAddress, Message: "Member " + plantest.NameOf(3) + " is catching up with the leader."},
		},
		"removes the newest outdated member once an up-to-date one has been added": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.AllOutdated, plantest.With(3, plantest.UpToDate), plantest.Ephemeral), remove(2),
		},
		"removes an outdated follower before the outdated leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.AllOutdated, plantest.With(2, plantest.UpToDate), plantest.With(3, plantest.UpToDate), plantest.Ephemeral), remove(1),
		},
		"moves leadership to an up-to-date member before it removes the leader": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(0, plantest.Outdated), plantest.Ephemeral), steps.MoveLeader{From: plantest.NameOf(0), To: 2, Name: plantest.NameOf(1)},
		},
		"removes the former leader after leadership has moved": {
			plantest.StateWith(plantest.Formed, plantest.Members(4), plantest.With(0, plantest.Outdated, follows), plantest.With(1, plantest.Leads), plantest.Ephemeral), remove(0),
		},
		"removes the former leader to return from two members to one": {
			plantest.StateWith(plantest.Size(1), plantest.Formed, plantest.Members(2), plantest.With(0, plantest.Outdated, follows), plantest.With(1, plantest.Leads), plantest.Ephemeral), remove(0),
		},
		"adds the next learner once the first outdated member is removed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.With(1, plantest.UpToDate), plantest.Ephemeral), add(3),
		},
		"adds no member while another one is starting": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.With(1, plantest.Pod(state.PodStarting)), plantest.Ephemeral),
			steps.Wait{Reason: v1beta2.ReasonSettling, Message: "Member " + plantest.NameOf(1) + " is starting."},
		},
		"removes a learner that is outdated": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.With(3, plantest.Learner, plantest.Outdated), plantest.Ephemeral), remove(3),
		},
		"removes the learner if the change of the spec is undone": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(3, plantest.Learner), plantest.Ephemeral), steps.RemoveMember{ID: 4, Name: plantest.NameOf(3)},
		},
		"adds a learner if it must both scale up and replace members": {
			plantest.StateWith(plantest.Size(4), plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.Ephemeral), add(3),
		},
		"removes an outdated member first if it scales down": {
			plantest.StateWith(plantest.Formed, plantest.Members(5), plantest.With(1, plantest.Outdated), plantest.Ephemeral), remove(1),
		},
		"reports that the replacement of an outdated member cannot be scheduled": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Outdated), plantest.With(3, unplaced), plantest.Ephemeral),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Stalled: true, Message: "Member " + plantest.NameOf(3) + " cannot be scheduled: " + noHost + takesPlace + plantest.NameOf(1) +
				", because its Pod must be recreated and its data would be deleted with it. Quorum holds (3 of 3). Until then all members need a node of their own. Add a node, or undo the change in the spec."},
		},
		"reports that the replacement for a deleted volume cannot be scheduled": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Volume(state.VolumeDeleting)), plantest.With(3, unplaced)),
			steps.Wait{Reason: v1beta2.ReasonPodUnschedulable, Stalled: true, Message: "Member " + plantest.NameOf(3) + " cannot be scheduled: " + noHost + takesPlace + plantest.NameOf(1) +
				", because its volume is being deleted. Quorum holds (3 of 3). Until then all members need a node of their own. Add a node."},
		},
		"replaces a member whose image cannot be pulled if the spec asks for another image": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.BlockedBy(v1beta2.ReasonImageUnavailable), plantest.UnreadyFor(time.Hour)), plantest.Ephemeral, func(s *state.State) { s.Spec.Repository = "mirror/etcd" }),
			steps.RemoveMember{ID: 2, Name: plantest.NameOf(1), Cause: plantest.IsDead},
		},
		"moves members from emptyDir to volumes": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.Ephemeral, func(s *state.State) { s.Spec.Pod = nil }), add(3),
		},
		"moves members from emptyDir to volumes before it hibernates": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.Ephemeral, func(s *state.State) { s.Spec.Pod, s.Spec.Hibernate = nil, true }), add(3),
		},
		"lets no drain take the only member before its data is on a volume": {
			plantest.StateWith(plantest.Size(1), plantest.Formed, plantest.Members(1), plantest.AllOutdated, plantest.Ephemeral, func(s *state.State) { s.Spec.Pod, s.Budget = nil, plantest.BudgetOf(0) }),
			steps.ApplyBudget{Incarnation: 1, MinAvailable: 1},
		},
		"restarts no member for another CA without quorum, and asks for the previous CA": {
			plantest.StateWith(plantest.Formed, plantest.Managed, plantest.Members(1), plantest.Size(1), plantest.NoQuorum, plantest.With(0, plantest.UnreadyFor(time.Hour), func(m *state.Member) { m.Trust, m.Loaded = "former", "certificates" }), plantest.Ephemeral, secureOnly),
			steps.Wait{Reason: v1beta2.ReasonQuorumLost, Stalled: true, Message: "Quorum is lost, and etcd accepts no writes. The members that have data did not form a quorum in time: " + plantest.NameOf(0) +
				". The operator removes nothing. Recover these members. Their data is in the Pods, and a restart would delete it. Put the previous CA back into the TLS Secrets. To continue from a snapshot, apply an EtcdRestore."},
		},
		"moves members from volumes to emptyDir": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, func(s *state.State) {
				plantest.AllOutdated(s)
				for i := range s.Members {
					s.Members[i].Volume = state.VolumePresent
				}
			}), add(3),
		},
	}.Run(t, plan.Plan)
}

// TestPlanReplaceStaleVersion: the rules about versions are the same as for members on volumes.
func TestPlanReplaceStaleVersion(t *testing.T) {
	up, down := plantest.OfVersion("3.7.3"), plantest.OfVersion("3.5.35")
	add := steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)}
	plantest.Plans{
		"replaces no member if the version is refused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.8.0"), plantest.Ephemeral),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
		"replaces no member for a changed spec.pod while the version is refused": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.AllOutdated, plantest.OfVersion("3.8.0"), plantest.Ephemeral),
			steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: "etcd is upgraded one minor version at a time. Set spec.version to the newest 3.7 before 3.8.0. The members keep their version until then.", Stalled: true},
		},
		"prepares the data before a member with 3.7 joins": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.Ephemeral), steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangePreparing, Index: 40},
		},
		"does not cancel the preparation, although members must be replaced after it": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.5.0", "3.5.0"), plantest.PreparedFor("3.7", v1beta2.VersionChangePreparing), plantest.Ephemeral),
			steps.RecordVersionChange{To: "3.7", Step: v1beta2.VersionChangeSnapshotted, Index: 40},
		},
		"adds a member with 3.7 once the data is ready": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.PreparedFor("3.7", v1beta2.VersionChangeReady), plantest.Ephemeral), add,
		},
		"continues the upgrade if one member runs 3.7": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), up, plantest.Data("3.6.0", ""), plantest.With(1, plantest.WithImage("3.7.3")), plantest.Ephemeral), add,
		},
		"returns to 3.5 if one member already runs 3.6": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.EveryImage("3.5.35"), down, plantest.With(1, plantest.WithImage("3.6.16")), plantest.Ephemeral), add,
		},
		"refuses a downgrade to an older minor version, because no member could join": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.6.0", ""), plantest.Ephemeral), steps.Wait{Reason: v1beta2.ReasonVersionNotSupported, Message: noWayDown, Stalled: true},
		},
		"cancels a downgrade that has begun": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), down, plantest.Data("3.5.0", "3.5.0"), plantest.Ephemeral), steps.CancelDowngrade{From: "3.5"},
		},
	}.Run(t, plan.Plan)
}

func TestANewMemberGetsTheVersionThatIsReplacedTo(t *testing.T) {
	tests := map[string]struct {
		state state.State
		want  string
	}{
		"the version of the spec":                                {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.6.17"), plantest.With(3, plantest.JustAdded), plantest.Ephemeral), "3.6.17"},
		"the old version before the data is prepared":            {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.3"), plantest.With(3, plantest.JustAdded), plantest.Ephemeral), "3.6.16"},
		"the version of the spec once the data is prepared":      {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.7.3"), plantest.PreparedFor("3.7", v1beta2.VersionChangeReady), plantest.With(3, plantest.JustAdded), plantest.Ephemeral), "3.7.3"},
		"the old version if no member can join with the new one": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.OfVersion("3.5.35"), plantest.With(3, plantest.JustAdded), plantest.Ephemeral), "3.6.16"},
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
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.Outdated), plantest.Ephemeral)
	want := "The operator is adding member " + plantest.NameOf(3) + " to replace member " + plantest.NameOf(1) + ", because its Pod must be recreated and its data would be deleted with it."
	if got := steps.Describe(s, plan.Plan(s)).Message; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got := steps.Describe(plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Size(4)), steps.AddLearner{Name: "x"}).Message; strings.Contains(got, "place") {
		t.Errorf("message %q of a cluster that grows", got)
	}
}

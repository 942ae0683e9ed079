package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

func hibernating(s *State) { s.Spec.Hibernate = true }

var asleep = Hibernating{Message: "The cluster hibernates: it has no Pods, and its volumes, membership and ID are kept. Set spec.hibernate to false to start it."}

func stopFor(i int) Step {
	return DeletePod{Name: nameOf(i), Reason: v1beta2.ReasonHibernating, Message: "spec.hibernate is true"}
}

func TestPlanHibernate(t *testing.T) {
	sleeping := []change{formed, members(3), with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), noQuorum, hibernating}
	planTests{
		"stops the followers first": {
			state(formed, members(3), hibernating), stopFor(1),
		},
		"stops the leader last": {
			state(formed, members(3), hibernating, with(1, pod(PodDeleting)), with(2, pod(PodDeleting))), stopFor(0),
		},
		"stops the members that run before it deletes a Pod that has ended": {
			state(formed, members(3), hibernating, with(1, pod(PodEnded))), stopFor(2),
		},
		"deletes a Pod that has ended last": {
			state(formed, members(3), hibernating, with(0, withoutPod), with(1, pod(PodEnded)), with(2, withoutPod)), stopFor(1),
		},
		"replaces a member first whose volume goes with its Pod": {
			state(formed, members(3), hibernating, with(1, volume(VolumeDeleting))),
			AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"waits until all have stopped": {
			state(formed, members(2), hibernating, with(0, pod(PodDeleting)), with(1, withoutPod)),
			Wait{Reason: v1beta2.ReasonHibernating, Message: "Member " + nameOf(0) + " is stopping."},
		},
		"asks a person where a host does not confirm it": {
			state(formed, members(1), hibernating, with(0, pod(PodDeleting), func(m *Member) { m.GoneBy = noon.Add(-time.Hour) })),
			Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(0)), Stalled: true},
		},
		"keeps the volumes of a cluster that hibernates when it is deleted": {
			state(append(sleeping, retained)...), KeepVolume{Name: nameOf(0), Keep: true},
		},
		"is asleep, and has lost no quorum": {state(sleeping...), asleep},
		"sleeps without its Secrets": {
			state(append(sleeping, func(s *State) { s.SecretProblem = "Secret tls is not there" })...), asleep,
		},
		"takes up no restore in its sleep, and says so": {
			state(append(sleeping, asked, func(s *State) { s.RestorePending = "monday" })...),
			Hibernating{Message: asleep.Message + " EtcdRestore monday starts after that."},
		},
		"ends a restore before it sleeps": {
			state(formed, members(3), restored(v1beta2.RestoreSeeding), asked, hibernating),
			CreateMember{Name: seedName, Incarnation: 2, Start: StartSeed},
		},
		"refuses to sleep with emptyDir": {
			state(formed, members(3), ephemeral, hibernating),
			Wait{Reason: v1beta2.ReasonInvalidSpec, Message: "With spec.pod.emptyDir all data is lost when all Pods stop. The operator stops none of them. Set spec.hibernate to false.", Stalled: true},
		},
		"does not stop what it did not make": {
			state(members(3), servicesFor(0, ""), hibernating),
			Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Member " + nameOf(0) + " was not created by this operator, or the ID of the cluster was lost with its status. " +
					"The operator changes nothing. Save the data with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot.",
				Stalled: true,
			},
		},
		"starts the members on their data when it wakes up": {
			state(append(sleeping, func(s *State) { s.Spec.Hibernate = false })...),
			CreateMember{Name: nameOf(0), Incarnation: 1, Start: StartRejoin},
		},
		"sleeps before it was ever born": {state(hibernating), asleep},
	}.run(t)
}

func TestASleepingClusterIsReadyAndNotAvailable(t *testing.T) {
	s := state(formed, members(3), with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), noQuorum, hibernating)
	before := v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: nameOf(0), Role: v1beta2.MemberLeader, ID: "1"}}}
	status := NewStatus(s, Plan(s), nil, before, 7)
	for _, c := range status.Conditions {
		want := "False"
		if c.Type == v1beta2.ConditionReady {
			want = "True"
		}
		if string(c.Status) != want || c.Reason != v1beta2.ReasonHibernated {
			t.Errorf("condition %s is %s: %s", c.Type, c.Status, c.Reason)
		}
	}
	if status.ClusterID != oldID || len(status.MemberStatuses) != 3 {
		t.Errorf("what is to be kept: ID %q, members %+v", status.ClusterID, status.MemberStatuses)
	}
}

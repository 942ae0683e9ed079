package plan

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

func hibernating(s *state.State) { s.Spec.Hibernate = true }

var asleep = steps.Hibernating{Message: "The cluster hibernates: it has no Pods, and its volumes, membership and ID are kept. Set spec.hibernate to false to start it."}

func stopFor(i int) steps.Step {
	return steps.DeletePod{Name: nameOf(i), Reason: v1beta2.ReasonHibernating, Message: "spec.hibernate is true"}
}

func TestPlanHibernate(t *testing.T) {
	sleeping := []change{formed, members(3), with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), noQuorum, hibernating}
	planTests{
		"stops the followers first": {
			stateWith(formed, members(3), hibernating), stopFor(1),
		},
		"stops the leader last": {
			stateWith(formed, members(3), hibernating, with(1, pod(state.PodDeleting)), with(2, pod(state.PodDeleting))), stopFor(0),
		},
		"stops running members before it deletes a Pod that has ended": {
			stateWith(formed, members(3), hibernating, with(1, pod(state.PodEnded))), stopFor(2),
		},
		"deletes a Pod that has ended after the others have stopped": {
			stateWith(formed, members(3), hibernating, with(0, withoutPod), with(1, pod(state.PodEnded)), with(2, withoutPod)), stopFor(1),
		},
		"replaces a member whose volume is being deleted before it hibernates": {
			stateWith(formed, members(3), hibernating, with(1, volume(state.VolumeDeleting))),
			steps.AddLearner{Name: nameOf(3), PeerURL: peerURLOf(3)},
		},
		"waits until all members have stopped": {
			stateWith(formed, members(2), hibernating, with(0, pod(state.PodDeleting)), with(1, withoutPod)),
			steps.Wait{Reason: v1beta2.ReasonHibernating, Message: "Member " + nameOf(0) + " is stopping."},
		},
		"asks a person if a node does not confirm that the Pod has stopped": {
			stateWith(formed, members(1), hibernating, with(0, pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = noon.Add(-time.Hour) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: stillRuns(nameOf(0)), Stalled: true},
		},
		"retains the volumes of a hibernated cluster": {
			stateWith(append(sleeping, retained)...), steps.KeepVolume{Name: nameOf(0), Keep: true},
		},
		"is hibernated without Pods, and reports no lost quorum": {stateWith(sleeping...), asleep},
		"is hibernated even if a Secret is missing": {
			stateWith(append(sleeping, func(s *state.State) { s.SecretProblem = "Secret tls is not there" })...), asleep,
		},
		"starts no restore while hibernated, and reports that": {
			stateWith(append(sleeping, asked, func(s *state.State) { s.RestorePending = "monday" })...),
			steps.Hibernating{Message: asleep.Message + " EtcdRestore monday starts after that."},
		},
		"finishes a restore in progress before it hibernates": {
			stateWith(formed, members(3), restored(v1beta2.RestoreSeeding), asked, hibernating),
			steps.CreateMember{Name: seedName, Incarnation: 2, Start: state.StartSeed},
		},
		"refuses to hibernate with emptyDir": {
			stateWith(formed, members(3), ephemeral, hibernating),
			steps.Wait{Reason: v1beta2.ReasonInvalidSpec, Message: "With spec.pod.emptyDir all data is lost when all Pods stop. The operator stops none of them. Set spec.hibernate to false.", Stalled: true},
		},
		"does not stop members that it did not create": {
			stateWith(members(3), servicesFor(0, ""), hibernating),
			steps.Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Member " + nameOf(0) + " was not created by this operator, or the ID of the cluster was lost with its status. " +
					"The operator changes nothing. Save the data with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot.",
				Stalled: true,
			},
		},
		"starts the members on their volumes once spec.hibernate is false": {
			stateWith(append(sleeping, func(s *state.State) { s.Spec.Hibernate = false })...),
			steps.CreateMember{Name: nameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
		"hibernates before the cluster has formed": {stateWith(hibernating), asleep},
	}.run(t)
}

func TestASleepingClusterIsReadyAndNotAvailable(t *testing.T) {
	s := stateWith(formed, members(3), with(0, withoutPod), with(1, withoutPod), with(2, withoutPod), noQuorum, hibernating)
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

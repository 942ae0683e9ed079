package modes_test

import (
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

var asleep = steps.Hibernating{Message: "The cluster hibernates: it has no Pods, and its volumes, membership and ID are kept. Set spec.hibernate to false to start it."}

func stopFor(i int) steps.Step {
	return steps.DeletePod{Name: plantest.NameOf(i), Reason: v1beta2.ReasonHibernating, Message: "spec.hibernate is true"}
}

func TestPlanHibernate(t *testing.T) {
	sleeping := []plantest.Change{plantest.Formed, plantest.Members(3), plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod), plantest.NoQuorum, plantest.Hibernating}
	plantest.Plans{
		"stops the followers first": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Hibernating), stopFor(1),
		},
		"stops the leader last": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Hibernating, plantest.With(1, plantest.Pod(state.PodDeleting)), plantest.With(2, plantest.Pod(state.PodDeleting))), stopFor(0),
		},
		"stops running members before it deletes a Pod that has ended": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Hibernating, plantest.With(1, plantest.Pod(state.PodEnded))), stopFor(2),
		},
		"deletes a Pod that has ended after the others have stopped": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Hibernating, plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.Pod(state.PodEnded)), plantest.With(2, plantest.WithoutPod)), stopFor(1),
		},
		"replaces a member whose volume is being deleted before it hibernates": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Hibernating, plantest.With(1, plantest.Volume(state.VolumeDeleting))),
			steps.AddLearner{Name: plantest.NameOf(3), PeerURL: plantest.PeerURLOf(3)},
		},
		"waits until all members have stopped": {
			plantest.StateWith(plantest.Formed, plantest.Members(2), plantest.Hibernating, plantest.With(0, plantest.Pod(state.PodDeleting)), plantest.With(1, plantest.WithoutPod)),
			steps.Wait{Reason: v1beta2.ReasonHibernating, Message: "Member " + plantest.NameOf(0) + " is stopping."},
		},
		"asks a person if a node does not confirm that the Pod has stopped": {
			plantest.StateWith(plantest.Formed, plantest.Members(1), plantest.Hibernating, plantest.With(0, plantest.Pod(state.PodDeleting), func(m *state.Member) { m.GoneBy = plantest.Noon.Add(-time.Hour) })),
			steps.Wait{Reason: v1beta2.ReasonPodFailing, Message: plantest.StillRuns(plantest.NameOf(0)), Stalled: true},
		},
		"retains the volumes of a hibernated cluster": {
			plantest.StateWith(append(sleeping, plantest.Retained)...), steps.KeepVolume{Name: plantest.NameOf(0), Keep: true},
		},
		"is hibernated without Pods, and reports no lost quorum": {plantest.StateWith(sleeping...), asleep},
		"is hibernated even if a Secret is missing": {
			plantest.StateWith(append(sleeping, func(s *state.State) { s.SecretProblem = "Secret tls is not there" })...), asleep,
		},
		"starts no restore while hibernated, and reports that": {
			plantest.StateWith(append(sleeping, plantest.Asked, func(s *state.State) { s.RestorePending = "monday" })...),
			steps.Hibernating{Message: asleep.Message + " EtcdRestore monday starts after that."},
		},
		"finishes a restore in progress before it hibernates": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Restored(v1beta2.RestoreSeeding), plantest.Asked, plantest.Hibernating),
			steps.CreateMember{Name: plantest.SeedName, Incarnation: 2, Start: state.StartSeed},
		},
		"refuses to hibernate with emptyDir": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.Ephemeral, plantest.Hibernating),
			steps.Wait{Reason: v1beta2.ReasonInvalidSpec, Message: "With spec.pod.emptyDir all data is lost when all Pods stop. The operator stops none of them. Set spec.hibernate to false.", Stalled: true},
		},
		"does not stop members that it did not create": {
			plantest.StateWith(plantest.Members(3), plantest.ServicesFor(0, ""), plantest.Hibernating),
			steps.Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Member " + plantest.NameOf(0) + " was not created by this operator, or the ID of the cluster was lost with its status. " +
					"The operator changes nothing. Save the data with an EtcdBackup by etcdEndpoints. Then apply an EtcdRestore of that snapshot.",
				Stalled: true,
			},
		},
		"starts the members on their volumes once spec.hibernate is false": {
			plantest.StateWith(append(sleeping, func(s *state.State) { s.Spec.Hibernate = false })...),
			steps.CreateMember{Name: plantest.NameOf(0), Incarnation: 1, Start: state.StartRejoin},
		},
		"hibernates before the cluster has formed": {plantest.StateWith(plantest.Hibernating), asleep},
	}.Run(t, plan.Plan)
}

func TestASleepingClusterIsReadyAndNotAvailable(t *testing.T) {
	s := plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(0, plantest.WithoutPod), plantest.With(1, plantest.WithoutPod), plantest.With(2, plantest.WithoutPod), plantest.NoQuorum, plantest.Hibernating)
	before := v1beta2.EtcdClusterStatus{MemberStatuses: []v1beta2.MemberStatus{{Name: plantest.NameOf(0), Role: v1beta2.MemberLeader, ID: "1"}}}
	status := plan.NewStatus(s, plan.Plan(s), nil, before, 7)
	for _, c := range status.Conditions {
		want := "False"
		if c.Type == v1beta2.ConditionReady {
			want = "True"
		}
		if string(c.Status) != want || c.Reason != v1beta2.ReasonHibernated {
			t.Errorf("condition %s is %s: %s", c.Type, c.Status, c.Reason)
		}
	}
	if status.ClusterID != plantest.OldID || len(status.MemberStatuses) != 3 {
		t.Errorf("what is to be kept: ID %q, members %+v", status.ClusterID, status.MemberStatuses)
	}
}

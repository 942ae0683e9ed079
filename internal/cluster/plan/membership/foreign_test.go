package membership_test

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
)

// foreignObjects: objects with names that the cluster needs belong to another owner.
func foreignObjects(objects ...state.ForeignObject) plantest.Change {
	return func(s *state.State) {
		s.Foreign = objects
		s.Services = state.Services{HeadlessCurrent: true}
	}
}

func TestObjectsOfOthersAreNotTakenOver(t *testing.T) {
	client := state.ForeignObject{Kind: "Service", Name: "example-client"}
	budget := state.ForeignObject{Kind: "PodDisruptionBudget", Name: "example"}
	leaving := state.ForeignObject{Kind: "Service", Name: "example", Leaving: true}
	left := state.ForeignObject{Kind: "Pod", Name: "example-x"}
	refused := steps.Wait{
		Reason:  v1beta2.ReasonNotOurs,
		Message: "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it, and does not start the cluster. Delete or rename the object.",
		Stalled: true, Requeue: state.RequeueForeign,
	}
	reported := refused
	reported.Message = "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it, and continues to manage the members. Clients and drains do not find the cluster by that name. Delete or rename the object."
	withoutBudget := reported
	withoutBudget.Message = "PodDisruptionBudget example exists and does not belong to this EtcdCluster. The operator does not change it, and continues to manage the members. Clients and drains do not find the cluster by that name. Delete or rename the object."
	plantest.Plans{
		"a cluster does not start if its client Service belongs to another owner":           {plantest.StateWith(foreignObjects(client)), refused},
		"a restore does not start a cluster if its client Service belongs to another owner": {plantest.StateWith(foreignObjects(client), plantest.Asked), refused},
		"the operator waits for the deletion of an earlier cluster's Service": {
			plantest.StateWith(foreignObjects(leaving)),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "Service example belongs to an earlier EtcdCluster. The operator waits until Kubernetes has deleted it."},
		},
		"a cluster does not start beside a Pod of an earlier cluster": {
			plantest.StateWith(func(s *state.State) { s.Foreign = []state.ForeignObject{left} }),
			steps.Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Pod example-x exists and does not belong to this EtcdCluster. It has the labels of this cluster's members, so clients could reach other data. The operator does not start the cluster. " +
					"To keep the data, save it with an EtcdBackup by etcdEndpoints first, and apply an EtcdRestore of that snapshot. Delete or rename the object.",
				Stalled: true, Requeue: state.RequeueForeign,
			},
		},
		"a formed cluster ignores a Pod of an earlier cluster":                          {plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Foreign = []state.ForeignObject{left} }), steps.Done{}},
		"a formed cluster reports a client Service of another owner":                    {plantest.StateWith(plantest.Formed, plantest.Members(3), foreignObjects(client)), reported},
		"a formed cluster recreates a Pod before it reports a Service of another owner": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod), foreignObjects(client)), steps.CreateMember{Name: plantest.NameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a new cluster starts beside a PodDisruptionBudget of another owner": {
			plantest.StateWith(func(s *state.State) { s.Foreign = []state.ForeignObject{budget} }), steps.CreateVolumes{Incarnation: 1, Size: 3},
		},
		"a PodDisruptionBudget of another owner is reported and not changed": {
			plantest.StateWith(plantest.Formed, plantest.Members(3), func(s *state.State) { s.Foreign = []state.ForeignObject{budget} }, func(s *state.State) { s.Spec.Paused = false }), withoutBudget,
		},
	}.Run(t, plan.Plan)
}

// Pods that an earlier release created get the UID first. Only then do Services select by it.
func TestServicesSelectByUIDOnceEveryPodHasIt(t *testing.T) {
	earlier := func(s *state.State) { s.Services.WithoutUID = true }
	unlabelled := func(m *state.Member) { m.Unlabelled, m.WithoutUID = true, true }
	serving := steps.ApplyServices{Incarnation: 1, ClusterID: plantest.OldID}
	without := serving
	without.WithoutUID = true
	plantest.Plans{
		"Pods get the UID before Services select by it":                     {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, plantest.With(0, unlabelled), plantest.With(2, unlabelled)), steps.RestoreLabels{Name: plantest.NameOf(0)}},
		"Services select by UID once every Pod has it":                      {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier), serving},
		"Services that select by UID still do so if a Pod loses its labels": {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, unlabelled)), steps.RestoreLabels{Name: plantest.NameOf(1)}},
		"recreated Services do not select by UID while a Pod lacks it":      {plantest.StateWith(plantest.Formed, plantest.Members(3), plantest.With(1, unlabelled), func(s *state.State) { s.Services = state.Services{} }), without},
		"Services do not wait for the UID of a Pod that is stopping":        {plantest.StateWith(plantest.Formed, plantest.Members(3), earlier, plantest.With(1, unlabelled, plantest.Pod(state.PodDeleting))), serving},
	}.Run(t, plan.Plan)
}

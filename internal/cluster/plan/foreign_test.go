package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// foreignObjects: objects with names that the cluster needs belong to another owner.
func foreignObjects(objects ...state.ForeignObject) change {
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
	planTests{
		"a cluster does not start if its client Service belongs to another owner":           {stateWith(foreignObjects(client)), refused},
		"a restore does not start a cluster if its client Service belongs to another owner": {stateWith(foreignObjects(client), asked), refused},
		"the operator waits for the deletion of an earlier cluster's Service": {
			stateWith(foreignObjects(leaving)),
			steps.Wait{Reason: v1beta2.ReasonCreating, Message: "Service example belongs to an earlier EtcdCluster. The operator waits until Kubernetes has deleted it."},
		},
		"a cluster does not start beside a Pod of an earlier cluster": {
			stateWith(func(s *state.State) { s.Foreign = []state.ForeignObject{left} }),
			steps.Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Pod example-x exists and does not belong to this EtcdCluster. It has the labels of this cluster's members, so clients could reach other data. The operator does not start the cluster. " +
					"To keep the data, save it with an EtcdBackup by etcdEndpoints first, and apply an EtcdRestore of that snapshot. Delete or rename the object.",
				Stalled: true, Requeue: state.RequeueForeign,
			},
		},
		"a formed cluster ignores a Pod of an earlier cluster":                          {stateWith(formed, members(3), func(s *state.State) { s.Foreign = []state.ForeignObject{left} }), steps.Done{}},
		"a formed cluster reports a client Service of another owner":                    {stateWith(formed, members(3), foreignObjects(client)), reported},
		"a formed cluster recreates a Pod before it reports a Service of another owner": {stateWith(formed, members(3), with(1, withoutPod), foreignObjects(client)), steps.CreateMember{Name: nameOf(1), Incarnation: 1, Start: state.StartRejoin}},
		"a new cluster starts beside a PodDisruptionBudget of another owner": {
			stateWith(func(s *state.State) { s.Foreign = []state.ForeignObject{budget} }), steps.CreateVolumes{Incarnation: 1, Size: 3},
		},
		"a PodDisruptionBudget of another owner is reported and not changed": {
			stateWith(formed, members(3), func(s *state.State) { s.Foreign = []state.ForeignObject{budget} }, func(s *state.State) { s.Spec.Paused = false }), withoutBudget,
		},
	}.run(t)
}

// Pods that an earlier release created get the UID first. Only then do Services select by it.
func TestServicesSelectByUIDOnceEveryPodHasIt(t *testing.T) {
	earlier := func(s *state.State) { s.Services.WithoutUID = true }
	unlabelled := func(m *state.Member) { m.Unlabelled, m.WithoutUID = true, true }
	serving := steps.ApplyServices{Incarnation: 1, ClusterID: oldID}
	without := serving
	without.WithoutUID = true
	planTests{
		"Pods get the UID before Services select by it":                     {stateWith(formed, members(3), earlier, with(0, unlabelled), with(2, unlabelled)), steps.RestoreLabels{Name: nameOf(0)}},
		"Services select by UID once every Pod has it":                      {stateWith(formed, members(3), earlier), serving},
		"Services that select by UID still do so if a Pod loses its labels": {stateWith(formed, members(3), with(1, unlabelled)), steps.RestoreLabels{Name: nameOf(1)}},
		"recreated Services do not select by UID while a Pod lacks it":      {stateWith(formed, members(3), with(1, unlabelled), func(s *state.State) { s.Services = state.Services{} }), without},
		"Services do not wait for the UID of a Pod that is stopping":        {stateWith(formed, members(3), earlier, with(1, unlabelled, pod(state.PodDeleting))), serving},
	}.run(t)
}

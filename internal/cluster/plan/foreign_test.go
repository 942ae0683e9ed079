package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// foreign: objects with names that the cluster needs belong to another owner.
func foreign(objects ...ForeignObject) change {
	return func(s *State) {
		s.Foreign = objects
		s.Services = Services{HeadlessCurrent: true}
	}
}

func TestObjectsOfOthersAreNotTakenOver(t *testing.T) {
	client := ForeignObject{Kind: "Service", Name: "example-client"}
	budget := ForeignObject{Kind: "PodDisruptionBudget", Name: "example"}
	leaving := ForeignObject{Kind: "Service", Name: "example", Leaving: true}
	left := ForeignObject{Kind: "Pod", Name: "example-x"}
	refused := Wait{
		Reason:  v1beta2.ReasonNotOurs,
		Message: "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it, and does not start the cluster. Delete or rename the object.",
		Stalled: true, Requeue: requeueForeign,
	}
	reported := refused
	reported.Message = "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it, and continues to manage the members. Clients and drains do not find the cluster by that name. Delete or rename the object."
	withoutBudget := reported
	withoutBudget.Message = "PodDisruptionBudget example exists and does not belong to this EtcdCluster. The operator does not change it, and continues to manage the members. Clients and drains do not find the cluster by that name. Delete or rename the object."
	planTests{
		"a cluster does not start if its client Service belongs to another owner":           {state(foreign(client)), refused},
		"a restore does not start a cluster if its client Service belongs to another owner": {state(foreign(client), asked), refused},
		"the operator waits for the deletion of an earlier cluster's Service": {
			state(foreign(leaving)),
			Wait{Reason: v1beta2.ReasonCreating, Message: "Service example belongs to an earlier EtcdCluster. The operator waits until Kubernetes has deleted it."},
		},
		"a cluster does not start beside a Pod of an earlier cluster": {
			state(func(s *State) { s.Foreign = []ForeignObject{left} }),
			Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Pod example-x exists and does not belong to this EtcdCluster. It has the labels of this cluster's members, so clients could reach other data. The operator does not start the cluster. " +
					"To keep the data, save it with an EtcdBackup by etcdEndpoints first, and apply an EtcdRestore of that snapshot. Delete or rename the object.",
				Stalled: true, Requeue: requeueForeign,
			},
		},
		"a formed cluster ignores a Pod of an earlier cluster":                          {state(formed, members(3), func(s *State) { s.Foreign = []ForeignObject{left} }), Done{}},
		"a formed cluster reports a client Service of another owner":                    {state(formed, members(3), foreign(client)), reported},
		"a formed cluster recreates a Pod before it reports a Service of another owner": {state(formed, members(3), with(1, withoutPod), foreign(client)), CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin}},
		"a new cluster starts beside a PodDisruptionBudget of another owner": {
			state(func(s *State) { s.Foreign = []ForeignObject{budget} }), CreateVolumes{Incarnation: 1, Size: 3},
		},
		"a PodDisruptionBudget of another owner is reported and not changed": {
			state(formed, members(3), func(s *State) { s.Foreign = []ForeignObject{budget} }, func(s *State) { s.Spec.Paused = false }), withoutBudget,
		},
	}.run(t)
}

func TestTheBudgetOfAnotherIsLeftAlone(t *testing.T) {
	s := state(formed, members(3))
	s.Budget, s.Foreign = Budget{}, []ForeignObject{{Kind: "PodDisruptionBudget", Name: "example"}}
	if step := applyBudget(s); step != nil {
		t.Errorf("applyBudget returned %+v", step)
	}
}

// Pods that an earlier release created get the UID first. Only then do Services select by it.
func TestServicesSelectByUIDOnceEveryPodHasIt(t *testing.T) {
	earlier := func(s *State) { s.Services.WithoutUID = true }
	unlabelled := func(m *Member) { m.Unlabelled, m.WithoutUID = true, true }
	serving := ApplyServices{Incarnation: 1, ClusterID: oldID}
	without := serving
	without.WithoutUID = true
	planTests{
		"Pods get the UID before Services select by it":                     {state(formed, members(3), earlier, with(0, unlabelled), with(2, unlabelled)), RestoreLabels{Name: nameOf(0)}},
		"Services select by UID once every Pod has it":                      {state(formed, members(3), earlier), serving},
		"Services that select by UID still do so if a Pod loses its labels": {state(formed, members(3), with(1, unlabelled)), RestoreLabels{Name: nameOf(1)}},
		"recreated Services do not select by UID while a Pod lacks it":      {state(formed, members(3), with(1, unlabelled), func(s *State) { s.Services = Services{} }), without},
		"Services do not wait for the UID of a Pod that is stopping":        {state(formed, members(3), earlier, with(1, unlabelled, pod(PodDeleting))), serving},
	}.run(t)
}

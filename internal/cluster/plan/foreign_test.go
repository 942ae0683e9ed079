package plan

import (
	"testing"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// foreign: an object with a name that the cluster needs belongs to something else.
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
	reported.Message = "Service example-client exists and does not belong to this EtcdCluster. The operator does not change it. The members are kept well, but clients and drains do not find the cluster by that name. Delete or rename the object."
	withoutBudget := reported
	withoutBudget.Message = "PodDisruptionBudget example exists and does not belong to this EtcdCluster. The operator does not change it. The members are kept well, but clients and drains do not find the cluster by that name. Delete or rename the object."
	planTests{
		"a cluster is not started behind the Service of another": {state(foreign(client)), refused},
		"a restore does not start one either":                    {state(foreign(client), asked), refused},
		"a Service that is being deleted is waited for": {
			state(foreign(leaving)),
			Wait{Reason: v1beta2.ReasonCreating, Message: "Service example belongs to an earlier EtcdCluster. The operator waits until Kubernetes has deleted it."},
		},
		"a cluster is not started beside members that an earlier one left": {
			state(func(s *State) { s.Foreign = []ForeignObject{left} }),
			Wait{
				Reason: v1beta2.ReasonNotOurs,
				Message: "Pod example-x exists and does not belong to this EtcdCluster. It has the labels of this cluster's members, so clients could reach other data. The operator does not start the cluster. " +
					"To keep the data, save it with an EtcdBackup by etcdEndpoints first, and apply an EtcdRestore of that snapshot. Delete or rename the object.",
				Stalled: true, Requeue: requeueForeign,
			},
		},
		"a formed cluster is not disturbed by them":       {state(formed, members(3), func(s *State) { s.Foreign = []ForeignObject{left} }), Done{}},
		"a formed cluster reports the Service of another": {state(formed, members(3), foreign(client)), reported},
		"a formed cluster is healed first":                {state(formed, members(3), with(1, withoutPod), foreign(client)), CreateMember{Name: nameOf(1), Incarnation: 1, Start: StartRejoin}},
		"a budget of another keeps no cluster from being born": {
			state(func(s *State) { s.Foreign = []ForeignObject{budget} }), CreateVolumes{Incarnation: 1, Size: 3},
		},
		"a budget of another is not changed": {
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

package services

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// RefuseForeignServices keeps a cluster from being born behind a Service of somebody else, or beside members that an
// earlier EtcdCluster of its name left: clients would reach two databases.
func RefuseForeignServices(s state.State) steps.Step {
	if s.Formed() {
		return nil
	}
	if step := waitForForeign(foreignOf(s, "Service"), "The operator does not change it, and does not start the cluster."); step != nil {
		return step
	}
	return waitForForeign(foreignOf(s, "Pod"),
		"It has the labels of this cluster's members, so clients could reach other data. The operator does not start the cluster. "+
			"To keep the data, save it with an EtcdBackup by etcdEndpoints first, and apply an EtcdRestore of that snapshot.")
}

// ReportForeignObjects comes last: a formed cluster is kept well without the object. Pods do not disturb it.
func ReportForeignObjects(s state.State) steps.Step {
	step := waitForForeign(append(foreignOf(s, "Service"), foreignOf(s, "PodDisruptionBudget")...),
		"The operator does not change it, and continues to manage the members. Clients and drains do not find the cluster by that name.")
	if step != nil {
		return step
	}
	return waitForForeign(foreignOf(s, "NetworkPolicy"), "The operator does not change it, so spec.networkPolicy has no effect.")
}

func foreignOf(s state.State, kind string) []state.ForeignObject {
	return slices.DeleteFunc(slices.Clone(s.Foreign), func(o state.ForeignObject) bool { return o.Kind != kind })
}

func waitForForeign(foreign []state.ForeignObject, means string) steps.Step {
	if len(foreign) == 0 {
		return nil
	}
	if leaving := slices.IndexFunc(foreign, func(o state.ForeignObject) bool { return !o.Leaving }) < 0; leaving {
		return steps.Wait{
			Reason:  v1beta2.ReasonCreating,
			Message: namesOf(foreign) + " belongs to an earlier EtcdCluster. The operator waits until Kubernetes has deleted it.",
		}
	}
	verb := " exists and does not belong to this EtcdCluster. "
	staying := slices.DeleteFunc(slices.Clone(foreign), func(o state.ForeignObject) bool { return o.Leaving })
	if len(staying) > 1 {
		verb = " exist and do not belong to this EtcdCluster. "
	}
	return steps.Wait{
		Reason:  v1beta2.ReasonNotOurs,
		Message: namesOf(staying) + verb + means + " Delete or rename the object.",
		Stalled: true,
		Requeue: state.RequeueForeign,
	}
}

func namesOf(foreign []state.ForeignObject) string {
	var names []string
	for _, o := range foreign {
		names = append(names, o.Kind+" "+o.Name)
	}
	return strings.Join(names, " and ")
}

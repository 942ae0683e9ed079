package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// requeueForeign is the interval while a person has to delete or rename an object.
const requeueForeign = 30 * time.Second

// ForeignObject has a name that the cluster needs, and does not belong to it.
type ForeignObject struct {
	Kind, Name string
	// Leaving: Kubernetes is about to delete it.
	Leaving bool
}

// IsForeign reports whether the object with that name belongs to something else.
func (s State) IsForeign(kind, name string) bool {
	return slices.ContainsFunc(s.Foreign, func(o ForeignObject) bool { return o.Kind == kind && o.Name == name })
}

// refuseForeignServices keeps a cluster from being born behind a Service of somebody else, or beside members that an
// earlier EtcdCluster of its name left: clients would reach two databases.
func refuseForeignServices(s State) Step {
	if s.Formed() {
		return nil
	}
	if step := waitForForeign(s.foreign("Service"), "The operator does not change it, and does not start the cluster."); step != nil {
		return step
	}
	return waitForForeign(s.foreign("Pod"),
		"It has the labels of this cluster's members, so clients could reach other data. The operator does not start the cluster. "+
			"To keep the data, save it with an EtcdBackup by etcdEndpoints first, and apply an EtcdRestore of that snapshot.")
}

// reportForeignObjects comes last: a formed cluster is kept well without the object. Pods do not disturb it.
func reportForeignObjects(s State) Step {
	step := waitForForeign(append(s.foreign("Service"), s.foreign("PodDisruptionBudget")...),
		"The operator does not change it, and continues to manage the members. Clients and drains do not find the cluster by that name.")
	if step != nil {
		return step
	}
	return waitForForeign(s.foreign("NetworkPolicy"), "The operator does not change it, so spec.networkPolicy has no effect.")
}

func (s State) foreign(kind string) []ForeignObject {
	return slices.DeleteFunc(slices.Clone(s.Foreign), func(o ForeignObject) bool { return o.Kind != kind })
}

func waitForForeign(foreign []ForeignObject, means string) Step {
	if len(foreign) == 0 {
		return nil
	}
	if leaving := slices.IndexFunc(foreign, func(o ForeignObject) bool { return !o.Leaving }) < 0; leaving {
		return Wait{
			Reason:  v1beta2.ReasonCreating,
			Message: namesOf(foreign) + " belongs to an earlier EtcdCluster. The operator waits until Kubernetes has deleted it.",
		}
	}
	verb := " exists and does not belong to this EtcdCluster. "
	staying := slices.DeleteFunc(slices.Clone(foreign), func(o ForeignObject) bool { return o.Leaving })
	if len(staying) > 1 {
		verb = " exist and do not belong to this EtcdCluster. "
	}
	return Wait{
		Reason:  v1beta2.ReasonNotOurs,
		Message: namesOf(staying) + verb + means + " Delete or rename the object.",
		Stalled: true,
		Requeue: requeueForeign,
	}
}

func namesOf(foreign []ForeignObject) string {
	var names []string
	for _, o := range foreign {
		names = append(names, o.Kind+" "+o.Name)
	}
	return strings.Join(names, " and ")
}

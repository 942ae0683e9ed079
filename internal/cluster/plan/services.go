package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ApplyServices makes the headless Service, and the client Service for an incarnation.
type ApplyServices struct {
	Incarnation int32
	ClusterID   string
	// RestoreUID is that of the EtcdRestore that made the incarnation.
	RestoreUID types.UID
	// WithoutUID leaves the EtcdCluster's UID out of the selectors.
	WithoutUID bool
	// Unready: the client Service selects members whose Pods are not ready, too.
	Unready bool
}

func (ApplyServices) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "The operator is creating the Services.",
		Requeue: state.RequeueSoon,
	}
}

// applyServices come first: members find each other by the headless one. The one for clients selects nobody until the
// cluster has formed for good, so that nothing is acknowledged to a client that could yet start over.
func applyServices(s state.State) Step {
	var incarnation int32
	if s.Formed() {
		incarnation = s.Incarnation
	}
	headless, forClients := state.ServicesCurrent(s)
	withoutUID := selectsWithoutUID(s)
	if headless && forClients && withoutUID == s.Services.WithoutUID {
		return nil
	}
	return ApplyServices{Incarnation: incarnation, ClusterID: state.IdForClients(s), RestoreUID: state.MadeBy(s), WithoutUID: withoutUID, Unready: state.ServesUnready(s)}
}

// selectsWithoutUID says whether the selectors have to do without the UID, because a Pod that runs has no such label
// yet. Selectors that have it keep it.
func selectsWithoutUID(s state.State) bool {
	if s.Services.ClientExists && !s.Services.WithoutUID {
		return false
	}
	return slices.ContainsFunc(s.Members, func(m state.Member) bool {
		return m.WithoutUID && m.Pod != state.PodDeleting && m.Pod != state.PodEnded
	})
}

// reportDroppedSetting reports what the spec asks of the client Service, and what this Kubernetes does not have.
func reportDroppedSetting(s state.State) Step {
	if !s.Services.TrafficDropped {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonSettingDropped, Stalled: true, Requeue: state.RequeueForeign,
		Message: "The API server drops spec.service.trafficDistribution from Service " + s.ClientService() + ". This Kubernetes does not have the setting, so clients reach members in all zones. " +
			"Use Kubernetes 1.31 or newer, or remove spec.service.trafficDistribution.",
	}
}

// AddToService lets the client Service select a member that votes.
type AddToService struct{ Name string }

func (step AddToService) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is adding member " + step.Name + " to the client Service.",
		Requeue: state.RequeueSoon,
	}
}

// addToService lets clients reach a member once it votes: a learner refuses most requests.
func addToService(s state.State) Step {
	for _, m := range s.Current() {
		if m.InMembership && m.Started && !m.Learner && !m.InService && !s.Fenced(m.Name) && m.Pod == state.PodRunning && m.Start != state.StartForce && may(s, AddToService{Name: m.Name}) {
			return AddToService{Name: m.Name}
		}
	}
	return nil
}

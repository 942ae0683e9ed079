package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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

func (ApplyServices) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "The operator is creating the Services.",
		Requeue: requeueSoon,
	}
}

// applyServices come first: members find each other by the headless one. The one for clients selects nobody until the
// cluster has formed for good, so that nothing is acknowledged to a client that could yet start over.
func applyServices(s State) Step {
	var incarnation int32
	if s.Formed() {
		incarnation = s.Incarnation
	}
	headless, forClients := s.servicesCurrent()
	withoutUID := s.selectsWithoutUID()
	if headless && forClients && withoutUID == s.Services.WithoutUID {
		return nil
	}
	return ApplyServices{Incarnation: incarnation, ClusterID: s.idForClients(), RestoreUID: s.madeBy(), WithoutUID: withoutUID, Unready: s.servesUnready()}
}

// idForClients is the cluster ID that is to be written on the client Service. A cluster never changes its ID, so if the
// Service has another one for this incarnation, one of the two is wrong, and the members decide which.
func (s State) idForClients() string {
	if written := s.Services.ClientClusterID; written != "" && s.Formed() && s.Services.ClientIncarnation == s.Incarnation && !s.ClusterIDProven {
		return written
	}
	return s.ClusterID
}

// servicesCurrent reports of the two Services whether nothing has to be done about them.
func (s State) servicesCurrent() (headless, forClients bool) {
	var incarnation int32
	if s.Formed() {
		incarnation = s.Incarnation
	}
	headless = s.Services.HeadlessCurrent || s.IsForeign("Service", s.Name)
	forClients = s.Services.ClientCurrent && s.Services.ClientUnready == s.servesUnready() &&
		s.Services.ClientIncarnation == incarnation && s.Services.ClientClusterID == s.idForClients() && s.Services.ClientRestoreUID == s.madeBy()
	return headless, forClients || s.IsForeign("Service", s.ClientService())
}

// selectsWithoutUID says whether the selectors have to do without the UID, because a Pod that runs has no such label
// yet. Selectors that have it keep it.
func (s State) selectsWithoutUID() bool {
	if s.Services.ClientExists && !s.Services.WithoutUID {
		return false
	}
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.WithoutUID && m.Pod != PodDeleting && m.Pod != PodEnded })
}

// reportDroppedSetting reports what the spec asks of the client Service, and what this Kubernetes does not have.
func reportDroppedSetting(s State) Step {
	if !s.Services.TrafficDropped {
		return nil
	}
	return Wait{
		Reason: v1beta2.ReasonSettingDropped, Stalled: true, Requeue: requeueForeign,
		Message: "The API server drops spec.service.trafficDistribution from Service " + s.ClientService() + ". This Kubernetes does not have the setting, so clients reach members in all zones. " +
			"Use Kubernetes 1.31 or newer, or remove spec.service.trafficDistribution.",
	}
}

// AddToService lets the client Service select a member that votes.
type AddToService struct{ Name string }

func (step AddToService) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is adding member " + step.Name + " to the client Service.",
		Requeue: requeueSoon,
	}
}

// addToService lets clients reach a member once it votes: a learner refuses most requests.
func addToService(s State) Step {
	for _, m := range s.Current() {
		if m.InMembership && m.Started && !m.Learner && !m.InService && !s.Fenced(m.Name) && m.Pod == PodRunning && m.Start != StartForce && s.may(AddToService{Name: m.Name}) {
			return AddToService{Name: m.Name}
		}
	}
	return nil
}

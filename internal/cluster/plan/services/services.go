package services

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// ApplyServices come first: members find each other by the headless one. The one for clients selects nobody until the
// cluster has formed for good, so that nothing is acknowledged to a client that could yet start over.
func ApplyServices(s state.State) steps.Step {
	var incarnation int32
	if s.Formed() {
		incarnation = s.Incarnation
	}
	headless, forClients := state.ServicesCurrent(s)
	withoutUID := selectsWithoutUID(s)
	if headless && forClients && withoutUID == s.Services.WithoutUID {
		return nil
	}
	return steps.ApplyServices{Incarnation: incarnation, ClusterID: state.IDForClients(s), RestoreUID: state.MadeBy(s), WithoutUID: withoutUID, Unready: state.ServesUnready(s)}
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

// ReportDroppedSetting reports what the spec asks of the client Service, and what this Kubernetes does not have.
func ReportDroppedSetting(s state.State) steps.Step {
	if !s.Services.TrafficDropped {
		return nil
	}
	return steps.Wait{
		Reason: v1beta2.ReasonSettingDropped, Stalled: true, Requeue: state.RequeueForeign,
		Message: "The API server drops spec.service.trafficDistribution from Service " + s.ClientService() + ". This Kubernetes does not have the setting, so clients reach members in all zones. " +
			"Use Kubernetes 1.31 or newer, or remove spec.service.trafficDistribution.",
	}
}

// AddToService lets clients reach a member once it votes: a learner refuses most requests.
func AddToService(s state.State) steps.Step {
	for _, m := range s.Current() {
		if m.InMembership && m.Started && !m.Learner && !m.InService && !s.Fenced(m.Name) && m.Pod == state.PodRunning && m.Start != state.StartForce && waits.May(s, steps.AddToService{Name: m.Name}) {
			return steps.AddToService{Name: m.Name}
		}
	}
	return nil
}

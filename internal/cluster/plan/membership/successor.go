package membership

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// Successor is the Pod that the cluster cannot do without once a step has stopped or removed a member. The API server must be known to
// accept it before the step is carried out. It is false if no Pod follows, or if the Pod to be deleted does not run.
func Successor(s state.State, step steps.Step) (next steps.CreateMember, follows bool) {
	switch step := step.(type) {
	case steps.DeletePod:
		return successorOf(s, step)
	case steps.RemoveMember:
		prepared := slices.ContainsFunc(s.Members, func(m state.Member) bool { return m.Waits })
		return podAfter(s, step.Name, state.StartJoin), step.ReplacesLost() && !prepared
	}
	return steps.CreateMember{}, false
}

func successorOf(s state.State, stop steps.DeletePod) (steps.CreateMember, bool) {
	m, _ := state.Find(s, stop.Name)
	switch stop.Reason {
	case v1beta2.ReasonUpgrading, v1beta2.ReasonRolling, v1beta2.ReasonRotatingCertificates, v1beta2.ReasonSettling,
		v1beta2.ReasonCertificateLacksName, v1beta2.ReasonResizingVolume:
		return podAfter(s, stop.Name, state.StartRejoin), true
	case v1beta2.ReasonRestoring: // the seed, once it is the cluster
		return podAfter(s, stop.Name, state.StartRejoin), m.Incarnation == s.Incarnation
	case v1beta2.ReasonRecovering:
		survivor, flag := survivorAfter(s, stop)
		return podAfter(s, survivor, flag), survivor != "" && m.Pod != state.PodEnded
	}
	return steps.CreateMember{}, false
}

// survivorAfter is the member that a recovery starts next if it stops a Pod. Before the survivor is chosen, each member with data may
// become it.
func survivorAfter(s state.State, stop steps.DeletePod) (name string, start state.Start) {
	if s.Forcing() && !state.Overruled(s) {
		return s.Recovery.Member, state.StartForce
	}
	if m, exists := state.Find(s, stop.Name); exists && m.Start == state.StartForce {
		return stop.Name, state.StartRejoin // see dropFlag
	}
	holders := s.Where(s.HoldsData)
	if len(holders) == 0 {
		return "", state.StartForce
	}
	return holders[0].Name, state.StartForce
}

func podAfter(s state.State, name string, start state.Start) steps.CreateMember {
	create := steps.CreateMember{Name: name, Incarnation: s.Incarnation, Start: start}
	if m, exists := state.Find(s, name); exists {
		create.Incarnation = m.Incarnation
	}
	return create
}

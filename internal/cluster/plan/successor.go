package plan

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Successor is the Pod that the cluster cannot do without once a step has stopped or removed a member. The API server must be known to
// accept it before the step is carried out. It is false if no Pod follows, or if the Pod to be deleted does not run.
func (s State) Successor(step Step) (next CreateMember, follows bool) {
	switch step := step.(type) {
	case DeletePod:
		return s.successorOf(step)
	case RemoveMember:
		prepared := slices.ContainsFunc(s.Members, func(m Member) bool { return m.Waits })
		return s.podAfter(step.Name, StartJoin), step.ReplacesLost() && !prepared
	}
	return CreateMember{}, false
}

func (s State) successorOf(stop DeletePod) (CreateMember, bool) {
	m, _ := s.member(stop.Name)
	switch stop.Reason {
	case v1beta2.ReasonUpgrading, v1beta2.ReasonRolling, v1beta2.ReasonRotatingCertificates, v1beta2.ReasonSettling,
		v1beta2.ReasonCertificateLacksName, v1beta2.ReasonResizingVolume:
		return s.podAfter(stop.Name, StartRejoin), true
	case v1beta2.ReasonRestoring: // the seed, once it is the cluster
		return s.podAfter(stop.Name, StartRejoin), m.Incarnation == s.Incarnation
	case v1beta2.ReasonRecovering:
		survivor, flag := s.survivorAfter(stop)
		return s.podAfter(survivor, flag), survivor != "" && m.Pod != PodEnded
	}
	return CreateMember{}, false
}

// survivorAfter is the member that a recovery starts next if it stops a Pod. Before the survivor is chosen, each member with data may
// become it.
func (s State) survivorAfter(stop DeletePod) (name string, start Start) {
	if s.forcing() && !s.overruled() {
		return s.Recovery.Member, StartForce
	}
	if m, exists := s.member(stop.Name); exists && m.Start == StartForce {
		return stop.Name, StartRejoin // see dropFlag
	}
	holders := s.where(s.HoldsData)
	if len(holders) == 0 {
		return "", StartForce
	}
	return holders[0].Name, StartForce
}

func (s State) podAfter(name string, start Start) CreateMember {
	create := CreateMember{Name: name, Incarnation: s.Incarnation, Start: start}
	if m, exists := s.member(name); exists {
		create.Incarnation = m.Incarnation
	}
	return create
}

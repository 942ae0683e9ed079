package membership

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// If a cluster lacks several members, their Pods are created side by side before etcd knows them: a Pod gets its node, its
// volume, its image and its address, and does not start etcd. So etcd adds a member whose name resolves already, one at a
// time, and only then does its Pod start etcd. A Pod that waits is no member: no client Service selects it, and it has no data.

const (
	// leastAhead is how many members a cluster must lack so that Pods are created before their members are added.
	leastAhead = 2
)

// keepsWaiting returns whether a Pod that waits is still needed.
func keepsWaiting(s state.State, m state.Member) bool {
	return m.Waits && slices.ContainsFunc(state.WaitingPods(s), func(w state.Member) bool { return w.Name == m.Name })
}

// PrepareMembers creates the Pods of members that the cluster lacks, before they are added. A member whose Pod was lost
// before it was added gets its Pod again, with its unused volume.
func PrepareMembers(s state.State) steps.Step {
	if !waits.AddsAhead(s) {
		return nil
	}
	waiting := state.WaitingPods(s)
	if len(waiting) >= state.Lacking(s) || len(waiting) == 0 && state.Lacking(s) < leastAhead {
		return nil
	}
	create := steps.CreateMember{Name: state.NextName(s), Incarnation: s.Incarnation, Start: state.StartJoin, Waits: true}
	for _, m := range s.Current() {
		if state.Unadded(s, m) && m.VolumeUnused && m.Volume == state.VolumePresent && m.Pod == state.PodNone && !s.Asked.Named(m.Name) {
			create.Name = m.Name
			break
		}
	}
	if !waits.May(s, create) {
		return nil
	}
	return create
}

// AddPrepared adds the first member whose Pod waits and whose name resolves. All voters of the operator must serve, which
// proves a quorum. It does not wait until the Pods of voters are ready: a learner has no vote, so it takes no quorum. Nor does
// it wait for voters that others added, because it cannot see whether they serve.
func AddPrepared(s state.State) steps.Step {
	waiting := state.WaitingPods(s)
	if len(waiting) == 0 || !waits.AddsAhead(s) {
		return nil
	}
	if slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return !m.Learner && !m.Serving }) {
		return nil
	}
	for _, m := range waiting {
		if state.Resolves(s, m) && (m.Pod == state.PodStarting || m.Pod == state.PodBlocked) {
			return steps.AddLearner{Name: m.Name, PeerURL: state.PeerURL(s, m.Name)}
		}
	}
	return nil
}

// waitForPrepared reports the Pods that wait and have no address yet.
func waitForPrepared(s state.State) steps.Step {
	waiting := state.WaitingPods(s)
	if len(waiting) == 0 {
		return nil
	}
	if wait := waits.WaitForAttempt(s, waiting); wait != nil {
		return wait
	}
	if wait := waits.Blocked(s, waiting); wait != nil {
		return wait
	}
	requeue := state.RequeueStarting
	for _, m := range waiting {
		switch {
		case !m.AddressSince.IsZero():
			requeue = state.RequeueAddress
		case state.UnreadyFor(s, m, state.StartGrace):
			return steps.Wait{
				Reason: v1beta2.ReasonMemberDown, Stalled: true,
				Message: "The Pod of new member " + m.Name + " has had no address for more than " + state.StartGrace.String() + ". The operator adds the member when its Pod has one. " + state.Impact(s) +
					" Read the events of the Pod: kubectl describe pod " + m.Name + ". Delete the Pod to create it again.",
			}
		}
	}
	return steps.Wait{
		Reason: v1beta2.ReasonScaling, Requeue: requeue,
		Message: "The Pods of new members get their volumes and addresses. Then etcd adds these members one at a time: " + strings.Join(state.MemberNames(waiting), ", ") + ".",
	}
}

// ReleaseMember lets the Pod of a member that has been added start etcd with the membership as it is now.
func ReleaseMember(s state.State) steps.Step {
	if !s.Formed() || !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Current() {
		release := steps.ReleaseMember{Name: m.Name}
		if m.InMembership && m.Waits && m.Pod != state.PodNone && m.Pod != state.PodDeleting && m.Pod != state.PodEnded && waits.May(s, release) {
			return release
		}
	}
	return nil
}

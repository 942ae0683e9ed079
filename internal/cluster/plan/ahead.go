package plan

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// If a cluster lacks several members, their Pods are created side by side before etcd knows them: a Pod gets its node, its
// volume, its image and its address, and does not start etcd. So etcd adds a member whose name resolves already, one at a
// time, and only then does its Pod start etcd. A Pod that waits is no member: no client Service selects it, and it has no data.

const (
	// leastAhead is how many members a cluster must lack so that Pods are created before their members are added.
	leastAhead = 2
	// spreading is how long the DNS servers of Kubernetes may take to read the address of a Pod that Kubernetes has published.
	spreading = 200 * time.Millisecond
	// publishing is how long Kubernetes may take until the name of a Pod that has an address resolves, if the operator cannot see
	// whether the address is published. The time of the address has whole seconds, so this is between one and two seconds.
	publishing = 2 * time.Second
	// requeueAddress is the interval while the name of a Pod with an address is about to resolve, or a learner is about to vote.
	requeueAddress = 100 * time.Millisecond
)

// unadded returns whether a member of the current incarnation was never added to the membership, and never ran.
func (s State) unadded(m Member) bool {
	return s.MembershipKnown && !m.InMembership && m.Incarnation == s.Incarnation && (m.Waits || m.VolumeUnused)
}

// lacking is how many members the membership lacks.
func (s State) lacking() int { return max(-s.surplus(), 0) }

// waiting returns the Pods that wait until their member is added, at most as many as the cluster lacks.
func (s State) waiting() []Member {
	waiting := slices.Clone(s.where(func(m Member) bool {
		return s.unadded(m) && m.Waits && m.Pod != PodNone && m.Pod != PodDeleting && s.asAsked(m)
	}))
	slices.SortFunc(waiting, func(a, b Member) int {
		return cmp.Or(cmp.Compare(s.ordinal(a), s.ordinal(b)), cmp.Compare(a.Name, b.Name))
	})
	return waiting[:min(len(waiting), s.lacking())]
}

// asAsked returns whether a Pod that waits is as the spec asks now, and its volume will be there.
func (s State) asAsked(m Member) bool {
	return m.PodImage == s.ImageFor(m.Incarnation) && !m.Outdated && !s.trustsOldCA(m) && m.Volume != VolumeDeleting && m.Volume != VolumeLost
}

// keepsWaiting returns whether a Pod that waits is still needed.
func (s State) keepsWaiting(m Member) bool {
	return m.Waits && slices.ContainsFunc(s.waiting(), func(w Member) bool { return w.Name == m.Name })
}

// resolves returns whether the DNS name of a Pod that waits has been published.
func (s State) resolves(m Member) bool {
	published := !m.PublishedSince.IsZero() && s.Now.Sub(m.PublishedSince) >= spreading
	return published || s.WaitedToBePublished(m)
}

// resolvesSoon returns whether a member can be added as soon as the name of its Pod resolves, which no watch reports.
func (s State) resolvesSoon() bool {
	return s.addsAhead() && slices.ContainsFunc(s.waiting(), func(m Member) bool { return !m.AddressSince.IsZero() && !s.resolves(m) })
}

// WaitedToBePublished returns whether a Pod has had its address for so long that its name resolves.
func (s State) WaitedToBePublished(m Member) bool {
	return !m.AddressSince.IsZero() && s.Now.Sub(m.AddressSince) >= publishing
}

// prepareMembers creates the Pods of members that the cluster lacks, before they are added. A member whose Pod was lost
// before it was added gets its Pod again, with its unused volume.
func prepareMembers(s State) Step {
	if !s.addsAhead() {
		return nil
	}
	waiting := s.waiting()
	if len(waiting) >= s.lacking() || len(waiting) == 0 && s.lacking() < leastAhead {
		return nil
	}
	create := CreateMember{Name: s.nextName(), Incarnation: s.Incarnation, Start: StartJoin, Waits: true}
	for _, m := range s.Current() {
		if s.unadded(m) && m.VolumeUnused && m.Volume == VolumePresent && m.Pod == PodNone && !s.Asked.named(m.Name) {
			create.Name = m.Name
			break
		}
	}
	if !s.may(create) {
		return nil
	}
	return create
}

// addsAhead returns whether the cluster lacks members and one could be added.
func (s State) addsAhead() bool {
	_, learning := s.learner()
	_, held := s.foreignLearner()
	return s.Formed() && s.MembershipKnown && s.lacking() > 0 && !learning && !held &&
		supportsLearners(s.lowestVersion()) && s.cannotAdd() == nil
}

// addPrepared adds the first member whose Pod waits and whose name resolves. All voters of the operator must serve, which
// proves a quorum. It does not wait until the Pods of voters are ready: a learner has no vote, so it takes no quorum. Nor does
// it wait for voters that others added, because it cannot see whether they serve.
func addPrepared(s State) Step {
	waiting := s.waiting()
	if len(waiting) == 0 || !s.addsAhead() {
		return nil
	}
	if slices.ContainsFunc(s.membership(), func(m Member) bool { return !m.Learner && !m.Serving }) {
		return nil
	}
	for _, m := range waiting {
		if s.resolves(m) && (m.Pod == PodStarting || m.Pod == PodBlocked) {
			return AddLearner{Name: m.Name, PeerURL: s.PeerURL(m.Name)}
		}
	}
	return nil
}

// waitForPrepared reports the Pods that wait and have no address yet.
func (s State) waitForPrepared() Step {
	waiting := s.waiting()
	if len(waiting) == 0 {
		return nil
	}
	if wait := s.waitForAttempt(waiting); wait != nil {
		return wait
	}
	if wait := s.blocked(waiting); wait != nil {
		return wait
	}
	requeue := requeueStarting
	for _, m := range waiting {
		switch {
		case !m.AddressSince.IsZero():
			requeue = requeueAddress
		case s.unreadyFor(m, startGrace):
			return Wait{
				Reason: v1beta2.ReasonMemberDown, Stalled: true,
				Message: "The Pod of new member " + m.Name + " has had no address for more than " + startGrace.String() + ". The operator adds the member when its Pod has one. " + s.impact() +
					" Read the events of the Pod: kubectl describe pod " + m.Name + ". Delete the Pod to create it again.",
			}
		}
	}
	return Wait{
		Reason: v1beta2.ReasonScaling, Requeue: requeue,
		Message: "The Pods of new members get their volumes and addresses. Then etcd adds these members one at a time: " + strings.Join(memberNames(waiting), ", ") + ".",
	}
}

// Released returns whether a Pod that waited may have started etcd, although its kubelet has not reported that yet.
func (m Member) Released() bool {
	return m.Pod == PodStarting && m.Start == StartJoin && !m.Waits && !m.AddressSince.IsZero()
}

// ReleaseMember lets a Pod that waits start etcd, because its member has been added.
type ReleaseMember struct{ Name string }

func (step ReleaseMember) describe(State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " has been added. Its Pod starts etcd.",
		Requeue: requeueSoon,
	}
}

// releaseMember lets the Pod of a member that has been added start etcd with the membership as it is now.
func releaseMember(s State) Step {
	if !s.Formed() || !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Current() {
		release := ReleaseMember{Name: m.Name}
		if m.InMembership && m.Waits && m.Pod != PodNone && m.Pod != PodDeleting && m.Pod != PodEnded && s.may(release) {
			return release
		}
	}
	return nil
}

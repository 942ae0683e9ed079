package state

import (
	"cmp"
	"slices"
	"time"
)

// StartOf says how a member without a Pod may start. It returns false if the member may not start.
func StartOf(s State, m Member) (Start, bool) {
	held := onVolume(s, m) && (m.InMembership || !m.VolumeUnused)
	switch {
	case besideSurvivor(s, m):
		return "", false
	case !s.MembershipKnown:
		// No quorum answers: only members that hold data start.
		return StartRejoin, held
	case !m.InMembership:
		return "", false
	case m.Started:
		return StartRejoin, held
	default:
		return StartJoin, held || JustAdded(s, m)
	}
}

// JustAdded says whether a member that has not started was added to a formed cluster, and so has never voted. A
// voter that was there from the beginning may have voted before it could say that it started.
func JustAdded(s State, m Member) bool {
	return m.Learner || !SupportsLearners(LowestVersion(s))
}

// JoinPeers are the names that a member needs to join: those of the whole membership, and its own.
func JoinPeers(s State, member string) []string {
	names := []string{member}
	for _, m := range s.Membership() {
		if m.Name != member {
			names = append(names, m.Name)
		}
	}
	for _, m := range s.ForeignMembers {
		names = append(names, m.peerName())
	}
	slices.Sort(names)
	return names
}

// CatchUpTime is how long a learner may take to catch up.
func CatchUpTime(s State) time.Duration {
	largest := int64(0)
	for _, m := range s.Membership() {
		largest = max(largest, m.DBSize)
	}
	return max(catchUpAtLeast, time.Duration(largest/catchUpSpeed)*time.Second)
}

// Learner is the member that has no vote yet. There is at most one that the operator added.
func (s State) Learner() (Member, bool) {
	for _, m := range s.Membership() {
		if m.Learner {
			return m, true
		}
	}
	return Member{}, false
}

// Unadded returns whether a member of the current incarnation was never added to the membership, and never ran.
func Unadded(s State, m Member) bool {
	return s.MembershipKnown && !m.InMembership && m.Incarnation == s.Incarnation && (m.Waits || m.VolumeUnused)
}

// WaitingPods returns the Pods that wait until their member is added, at most as many as the cluster lacks.
func WaitingPods(s State) []Member {
	waiting := slices.Clone(s.Where(func(m Member) bool {
		return Unadded(s, m) && m.Waits && m.Pod != PodNone && m.Pod != PodDeleting && asAsked(s, m)
	}))
	slices.SortFunc(waiting, func(a, b Member) int {
		return cmp.Or(cmp.Compare(Ordinal(s, a), Ordinal(s, b)), cmp.Compare(a.Name, b.Name))
	})
	return waiting[:min(len(waiting), Lacking(s))]
}

// asAsked returns whether a Pod that waits is as the spec asks now, and its volume will be there.
func asAsked(s State, m Member) bool {
	return m.PodImage == s.ImageFor(m.Incarnation) && !m.Outdated && !TrustsOldCA(s, m) && m.Volume != VolumeDeleting && m.Volume != VolumeLost
}

// Resolves returns whether the DNS name of a Pod that waits has been published.
func Resolves(s State, m Member) bool {
	published := !m.PublishedSince.IsZero() && s.Now.Sub(m.PublishedSince) >= Spreading
	return published || WaitedToBePublished(s, m)
}

// WaitedToBePublished returns whether a Pod has had its address for so long that its name resolves.
func WaitedToBePublished(s State, m Member) bool {
	return !m.AddressSince.IsZero() && s.Now.Sub(m.AddressSince) >= Publishing
}

// Released returns whether a Pod that waited may have started etcd, although its kubelet has not reported that yet.
func (m Member) Released() bool {
	return m.Pod == PodStarting && m.Start == StartJoin && !m.Waits && !m.AddressSince.IsZero()
}

// Spreading is how long the DNS servers of Kubernetes may take to read the address of a Pod that Kubernetes has published.
const Spreading = 200 * time.Millisecond

// Publishing is how long Kubernetes may take until the name of a Pod that has an address resolves, if the operator cannot see
// whether the address is published. The time of the address has whole seconds, so this is between one and two seconds.
const Publishing = 2 * time.Second

// RequeueAddress is the interval while the name of a Pod with an address is about to resolve, or a learner is about to vote.
const RequeueAddress = 100 * time.Millisecond

const (
	// catchUpAtLeast is how long a learner may take to catch up with the leader, however small the database is.
	catchUpAtLeast = 10 * time.Minute
	// catchUpSpeed is how many bytes a second a learner is expected to copy at least.
	catchUpSpeed = int64(4) << 20
)

const (
	// MaxLearnerFailures is how many learners in a row may fail before a person must act.
	MaxLearnerFailures = 3
	// LearnerPause is how long the operator waits after that many before it adds the next one. It doubles with each.
	LearnerPause = 30 * time.Minute
	// MaxLearnerPause is the longest of these pauses.
	MaxLearnerPause = 8 * time.Hour
)

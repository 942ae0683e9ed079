package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// A foreign member is in the membership, and the operator did not add it: somebody may be migrating data. It is no Member:
// it never gets a Pod or a volume, and no rule replaces it. Its vote counts, and because the operator cannot see whether it
// runs, it counts as a voter that is down.

// ForeignMember is a member of the current incarnation that the operator did not add.
type ForeignMember struct {
	ID etcd.ID
	// Name is its own word, and empty before it starts.
	Name     string
	PeerURLs []string
	Learner  bool
	// Started: etcd has published its addresses for clients, as each member has it do that starts. What the status keeps does not say it.
	Started bool
	// Since is when the operator first saw it.
	Since time.Time
}

// label is how people find it with etcdctl.
func (m ForeignMember) label() string {
	words := []string{}
	if m.Name != "" {
		words = append(words, m.Name)
	}
	words = append(words, m.PeerURLs...)
	if len(words) == 0 {
		return m.ID.String()
	}
	return m.ID.String() + " (" + strings.Join(words, ", ") + ")"
}

// peerName names it in the --initial-cluster of a member that joins. etcd compares the URLs only.
func (m ForeignMember) peerName() string { return "foreign-" + m.ID.String() }

// nameOf is the name of the member that an entry of the membership is about. A person may have changed the peer URL of a
// member that has not told its name, so the ID that the status recorded comes first.
func (s State) nameOf(entry etcd.Member) string {
	for name, id := range s.KnownIDs {
		if id == entry.ID && (entry.Name == "" || entry.Name == name) {
			return name
		}
	}
	return MemberOf(entry)
}

// addedByOthers reports whether an entry of the membership is of a foreign member. The operator's members have names that
// contain a hash of the EtcdCluster's UID. Anybody can start a member with such a name, so its peer URL counts, too. there is
// the member of this cluster that has a Pod or a volume of that name. If it told its ID, or the status recorded it, that
// decides: a person may have changed its peer URL, and the member may be down.
func (s State) addedByOthers(entry etcd.Member, there *Member) bool {
	name := s.nameOf(entry)
	named := s.Named(name, max(s.Incarnation, FirstIncarnation))
	switch {
	case !named:
		return there == nil
	case len(entry.PeerURLs) == 0 || s.advertisedBy(name, entry.PeerURLs) || (s.KnownIDs[name] == entry.ID && (there == nil || there.ID == 0)):
		return false
	}
	return there == nil || there.ID != entry.ID
}

// advertisedBy reports whether a member that the operator made would have these peer URLs. spec.pod.ClusterDomain may have
// changed since.
func (s State) advertisedBy(name string, urls []string) bool {
	return slices.ContainsFunc(urls, func(url string) bool {
		_, host, _ := strings.Cut(url, "://")
		return strings.HasPrefix(host, name+"."+s.Name+"."+s.Namespace+".svc")
	})
}

// recordForeign records a foreign member. known are those of earlier passes.
func (s *State) recordForeign(entry etcd.Member, known []ForeignMember) {
	m := ForeignMember{ID: entry.ID, Name: entry.Name, PeerURLs: entry.PeerURLs, Learner: entry.Learner, Started: len(entry.ClientURLs) > 0, Since: s.stamp()}
	if i := slices.IndexFunc(known, func(k ForeignMember) bool { return k.ID == m.ID }); i >= 0 {
		m.Since = known[i].Since
	}
	s.ForeignMembers = append(s.ForeignMembers, m)
}

// foreignVoters counts them, as a quorum last answered.
func (s State) foreignVoters() int {
	n := 0
	for _, m := range s.ForeignMembers {
		if !m.Learner {
			n++
		}
	}
	return n
}

// withForeignVoters adds the foreign voters to the operator's own. They count as down, except for those that etcd needed to
// answer with the membership: a quorum did.
func (s State) withForeignVoters(own etcd.Voters) etcd.Voters {
	n := s.foreignVoters()
	if n == 0 {
		return own
	}
	all := etcd.Voters{Total: own.Total + n, Healthy: own.Healthy}
	if own.Healthy > 0 {
		all.Healthy = max(own.Healthy, etcd.Quorum(all.Total))
	}
	return all
}

// needsForeignVoters reports whether the operator's own members that serve are no quorum.
func (s State) needsForeignVoters() bool {
	serving := 0
	for _, m := range s.membership() {
		if m.Serving && !m.Learner {
			serving++
		}
	}
	return serving < etcd.Quorum(s.Voters().Total)
}

// knownVoters is how many voters the cluster had when it last answered; 0 if that is not known.
func (s State) knownVoters() int {
	if len(s.KnownVoters) == 0 {
		return 0
	}
	return len(s.KnownVoters) + s.foreignVoters()
}

// removalAsked reports whether an annotation consents to the removal of a foreign member, by its ID or its name.
func (s State) removalAsked(m ForeignMember) bool {
	return slices.ContainsFunc(s.Asked.RemoveForeign, func(asked string) bool {
		id, err := etcd.ParseID(asked)
		return (err == nil && id == m.ID) || (m.Name != "" && asked == m.Name)
	})
}

// mayRemove reports whether the user consents to the removal of a foreign member while a quorum answers: by annotation, or
// by a grace period.
func (s State) mayRemove(m ForeignMember) bool {
	if s.removalAsked(m) {
		return true
	}
	grace, is := s.Spec.ForeignMemberGrace()
	return is && !s.clocksDiffer() && clock.Elapsed(m.Since, s.Now) >= grace
}

// foreignLearner is the first foreign member without a vote.
func (s State) foreignLearner() (ForeignMember, bool) {
	for _, m := range s.ForeignMembers {
		if m.Learner {
			return m, true
		}
	}
	return ForeignMember{}, false
}

// removeForeignMember removes a foreign member by consent: learners first, and then voters that have never started, because no quorum needs
// them, and etcd adds no member while they are down.
func removeForeignMember(s State) Step {
	if _, adding := s.learner(); adding || !s.MembershipKnown {
		return nil
	}
	const cause = "the operator did not add it, and the spec or an annotation consents to its removal"
	for _, m := range s.ForeignMembers {
		if m.Learner && s.mayRemove(m) {
			return RemoveMember{ID: m.ID, Name: m.label(), Cause: cause, Foreign: true}
		}
	}
	if _, learning := s.foreignLearner(); learning {
		return nil // reportForeignMembers says so
	}
	for _, started := range []bool{false, true} {
		if step := s.removeForeignVoter(started, cause); step != nil {
			return step
		}
	}
	return nil
}

// removeForeignVoter removes one by consent, if a quorum stays without it.
func (s State) removeForeignVoter(started bool, cause string) Step {
	if !s.Voters().KeepsQuorumWithout(started && s.needsForeignVoters()) {
		return nil
	}
	for _, m := range s.ForeignMembers {
		if m.Started == started && s.mayRemove(m) {
			return RemoveMember{ID: m.ID, Name: m.label(), Cause: cause, Foreign: true}
		}
	}
	return nil
}

// waitForForeignLearner holds a change of the membership: etcd accepts one learner at a time, and so does the operator.
func (s State) waitForForeignLearner() Step {
	if m, is := s.foreignLearner(); is {
		return s.waitForPersonAbout(m)
	}
	return nil
}

// waitForForeignVoters holds a restart that would leave no quorum if the foreign voters are down.
func (s State) waitForForeignVoters() Step {
	if s.foreignVoters() == 0 || s.Voters().KeepsQuorumWhileStopped(true) {
		return nil
	}
	i := slices.IndexFunc(s.ForeignMembers, func(m ForeignMember) bool { return !m.Learner })
	return s.waitForPersonAbout(s.ForeignMembers[i])
}

// reportForeignMembers comes last: the operator keeps its own members well beside a foreign one.
func reportForeignMembers(s State) Step {
	if !s.MembershipKnown || len(s.ForeignMembers) == 0 {
		return nil
	}
	return s.waitForPersonAbout(s.ForeignMembers[0])
}

// waitForPersonAbout reports a foreign member.
func (s State) waitForPersonAbout(m ForeignMember) Step {
	what := fmt.Sprintf("Member %s is in the cluster, and the operator did not add it. The operator has seen it since %s. ", m.label(), m.Since.UTC().Format(time.RFC3339))
	voters := s.Voters()
	if m.Learner {
		what += "It has no vote. Until it is removed, the operator adds and removes no other member, and does not change the minor version of etcd. "
	} else {
		what += fmt.Sprintf("It votes: quorum is %d of %d voters, and the operator runs %d of them. Until it is removed, the operator restarts a member only if quorum holds, and does not change the minor version of etcd. ",
			etcd.Quorum(voters.Total), voters.Total, voters.Total-s.foreignVoters())
	}
	return Wait{Reason: v1beta2.ReasonForeignMember, Message: what + s.wayOutOfForeign(m), Stalled: true, Requeue: requeueForeign}
}

// wayOutOfForeign says what a person can do, and what the operator does by itself.
func (s State) wayOutOfForeign(m ForeignMember) string {
	if s.mayRemove(m) {
		return "Its removal is allowed. The operator waits, because the removal could cost the cluster its quorum, or because another member is being added. You can remove it yourself: etcdctl member remove " + m.ID.String() + "."
	}
	text := fmt.Sprintf("If a migration is under way, end it first. To have the operator remove the member, annotate the EtcdCluster with %s=%s.", v1beta2.AnnotationRemoveForeign, m.ID)
	if grace, is := s.Spec.ForeignMemberGrace(); is {
		text += " The operator removes it at " + m.Since.Add(grace).UTC().Format(time.RFC3339) + ", because spec.recovery.foreignMemberGrace allows it."
	}
	return text
}

// knownIDs are the IDs of a status, by name.
func knownIDs(status v1beta2.EtcdClusterStatus) map[string]etcd.ID {
	ids := map[string]etcd.ID{}
	for _, m := range status.MemberStatuses {
		if id, err := etcd.ParseID(m.ID); err == nil && id != 0 {
			ids[m.Name] = id
		}
	}
	return ids
}

// knownVolumes returns the volumes that the members of a status served on.
func knownVolumes(status v1beta2.EtcdClusterStatus) map[string]VolumeID {
	var volumes map[string]VolumeID
	for _, m := range status.MemberStatuses {
		if m.VolumeClaimUID == "" {
			continue
		}
		if volumes == nil {
			volumes = map[string]VolumeID{}
		}
		volumes[m.Name] = VolumeID{Claim: m.VolumeClaimUID, Volume: m.VolumeName}
	}
	return volumes
}

// knownForeign are the foreign members of a status.
func knownForeign(status v1beta2.EtcdClusterStatus) []ForeignMember {
	var known []ForeignMember
	for _, m := range status.ForeignMembers {
		id, err := etcd.ParseID(m.ID)
		if err != nil {
			continue // it is read again from the membership
		}
		known = append(known, ForeignMember{ID: id, Name: m.Name, PeerURLs: m.PeerURLs, Learner: m.Role == v1beta2.MemberLearner, Since: m.Since.Time})
	}
	return known
}

// foreignStatus is what the status reports of them.
func (s State) foreignStatus() []v1beta2.ForeignMember {
	var reported []v1beta2.ForeignMember
	for _, m := range s.ForeignMembers {
		role := v1beta2.MemberVoter
		if m.Learner {
			role = v1beta2.MemberLearner
		}
		reported = append(reported, v1beta2.ForeignMember{ID: m.ID.String(), Name: m.Name, Role: role, PeerURLs: m.PeerURLs, Since: metav1.NewTime(m.Since)})
	}
	return reported
}

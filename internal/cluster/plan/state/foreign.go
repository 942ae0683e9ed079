package state

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// RequeueForeign is the interval while a person has to delete or rename an object.
const RequeueForeign = 30 * time.Second

// IsForeign reports whether the object with that name belongs to something else.
func IsForeign(s State, kind, name string) bool {
	return slices.ContainsFunc(s.Foreign, func(o ForeignObject) bool { return o.Kind == kind && o.Name == name })
}

// Label is how people find it with etcdctl.
func (m ForeignMember) Label() string {
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

// NameOf is the name of the member that an entry of the membership is about. A person may have changed the peer URL of a
// member that has not told its name, so the ID that the status recorded comes first.
func NameOf(s State, entry etcd.Member) string {
	for name, id := range s.KnownIDs {
		if id == entry.ID && (entry.Name == "" || entry.Name == name) {
			return name
		}
	}
	return MemberOf(entry)
}

// advertisedBy reports whether a member that the operator made would have these peer URLs. spec.pod.ClusterDomain may have
// changed since.
func advertisedBy(s State, name string, urls []string) bool {
	return slices.ContainsFunc(urls, func(url string) bool {
		_, host, _ := strings.Cut(url, "://")
		return strings.HasPrefix(host, name+"."+s.Name+"."+s.Namespace+".svc")
	})
}

// RecordForeign records a foreign member. known are those of earlier passes.
func RecordForeign(s *State, entry etcd.Member, known []ForeignMember) {
	m := ForeignMember{ID: entry.ID, Name: entry.Name, PeerURLs: entry.PeerURLs, Learner: entry.Learner, Started: len(entry.ClientURLs) > 0, Since: Stamp(*s)}
	if i := slices.IndexFunc(known, func(k ForeignMember) bool { return k.ID == m.ID }); i >= 0 {
		m.Since = known[i].Since
	}
	s.ForeignMembers = append(s.ForeignMembers, m)
}

// ForeignVoters counts them, as a quorum last answered.
func ForeignVoters(s State) int {
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
func withForeignVoters(s State, own etcd.Voters) etcd.Voters {
	n := ForeignVoters(s)
	if n == 0 {
		return own
	}
	all := etcd.Voters{Total: own.Total + n, Healthy: own.Healthy}
	if own.Healthy > 0 {
		all.Healthy = max(own.Healthy, etcd.Quorum(all.Total))
	}
	return all
}

// KnownVoters is how many voters the cluster had when it last answered; 0 if that is not known.
func KnownVoters(s State) int {
	if len(s.KnownVoters) == 0 {
		return 0
	}
	return len(s.KnownVoters) + ForeignVoters(s)
}

// removalAsked reports whether an annotation consents to the removal of a foreign member, by its ID or its name.
func removalAsked(s State, m ForeignMember) bool {
	return slices.ContainsFunc(s.Asked.RemoveForeign, func(asked string) bool {
		id, err := etcd.ParseID(asked)
		return (err == nil && id == m.ID) || (m.Name != "" && asked == m.Name)
	})
}

// MayRemove reports whether the user consents to the removal of a foreign member while a quorum answers: by annotation, or
// by a grace period.
func MayRemove(s State, m ForeignMember) bool {
	if removalAsked(s, m) {
		return true
	}
	grace, is := s.Spec.ForeignMemberGrace()
	return is && !ClocksDiffer(s) && clock.Elapsed(m.Since, s.Now) >= grace
}

// ForeignLearner is the first foreign member without a vote.
func ForeignLearner(s State) (ForeignMember, bool) {
	for _, m := range s.ForeignMembers {
		if m.Learner {
			return m, true
		}
	}
	return ForeignMember{}, false
}

// WayOutOfForeign says what a person can do, and what the operator does by itself.
func WayOutOfForeign(s State, m ForeignMember) string {
	if MayRemove(s, m) {
		return "Its removal is allowed. The operator waits, because the removal could cost the cluster its quorum, or because another member is being added. You can remove it yourself: etcdctl member remove " + m.ID.String() + "."
	}
	text := fmt.Sprintf("If a migration is under way, end it first. To have the operator remove the member, annotate the EtcdCluster with %s=%s.", v1beta2.AnnotationRemoveForeign, m.ID)
	if grace, is := s.Spec.ForeignMemberGrace(); is {
		text += " The operator removes it at " + m.Since.Add(grace).UTC().Format(time.RFC3339) + ", because spec.recovery.foreignMemberGrace allows it."
	}
	return text
}

// KnownIDs are the IDs of a status, by name.
func KnownIDs(status v1beta2.EtcdClusterStatus) map[string]etcd.ID {
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

// PeerURLs are those of a member that JoinPeers named.
func PeerURLs(s State, name string) []string {
	for _, m := range s.ForeignMembers {
		if m.peerName() == name {
			return m.PeerURLs
		}
	}
	return []string{PeerURL(s, name)}
}

// Voters counts the current membership.
func (s State) Voters() etcd.Voters {
	var v etcd.Voters
	for _, m := range s.Current() {
		if !m.InMembership || m.Learner {
			continue
		}
		v.Total++
		if m.Serving {
			v.Healthy++
		}
	}
	if s.MembershipKnown {
		v = withForeignVoters(s, v)
	}
	return v
}

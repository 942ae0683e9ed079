package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/recovery"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/space"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
)

// setMembers reports the members of the incarnation that is, or is to be, the cluster.
func setMembers(status *v1beta2.EtcdClusterStatus, s state.State) {
	sizes := make(map[string]int64, len(status.MemberStatuses))
	for _, m := range status.MemberStatuses {
		sizes[m.Name] = m.DBSize
	}
	before := status.MemberStatuses
	status.Members, status.MemberStatuses = v1beta2.MembersStatus{}, nil
	for _, m := range state.OfIncarnation(s, max(s.Incarnation, state.FirstIncarnation)) {
		if !m.InMembership && (s.MembershipKnown || m.Waits || m.VolumeUnused) {
			continue
		}
		ready := m.Serving && m.PodReady
		if ready {
			status.Members.Ready = append(status.Members.Ready, m.Name)
		} else {
			status.Members.Unready = append(status.Members.Unready, m.Name)
		}
		status.MemberStatuses = append(status.MemberStatuses, v1beta2.MemberStatus{
			Name:      m.Name,
			ID:        idOf(s, m),
			Role:      roleOf(s, m, before),
			Version:   m.Version,
			ClientURL: state.ClientURL(s, m.Name),
			DBSize:    steady(sizes[m.Name], m.DBSize),

			VolumeSize:     m.VolumeCapacity,
			VolumeClaimUID: volumes.VolumeIDOf(s, m).Claim,
			VolumeName:     volumes.VolumeIDOf(s, m).Volume,
			Ready:          ready,
			Fenced:         s.Fenced(m.Name),
		})
	}
	space.KeepDefragmented(status.MemberStatuses, before)
	if s.Formed() && !s.MembershipKnown && !s.IncarnationCorrected {
		keepMissing(s, status, before)
	}
	status.Size = len(status.Members.Ready)
	status.ReadyMembers = fmt.Sprintf("%d/%d", status.Size, s.Spec.Size)
	if v := state.LowestVersion(s); v != "" && state.Answered(s) {
		status.CurrentVersion = v
	}
	if state.RefusesKnown(s) && !s.MembershipKnown {
		status.CurrentVersion, status.VersionChange = "", nil // or the next Pod would start with it again
	}
	status.TargetVersion = ""
	if status.CurrentVersion != "" && status.CurrentVersion != s.Spec.EtcdVersion() {
		status.TargetVersion = s.Spec.EtcdVersion()
	}
}

// keepMissing keeps members of which neither Pod nor volume is left, while there is no quorum to say that they were
// removed: their number decides whether quorum is lost.
func keepMissing(s state.State, status *v1beta2.EtcdClusterStatus, before []v1beta2.MemberStatus) {
	for _, name := range s.KnownVoters {
		if s.Witness != "" && !slices.ContainsFunc(before, func(b v1beta2.MemberStatus) bool { return b.Name == name }) {
			before = append(before[:len(before):len(before)], v1beta2.MemberStatus{Name: name, Role: v1beta2.MemberVoter, ClientURL: state.ClientURL(s, name)})
		}
	}
	for _, b := range before {
		if s.Witness != "" && !slices.Contains(s.KnownVoters, b.Name) {
			continue // the witness knows that it was removed, or that it has no vote
		}
		if !slices.ContainsFunc(status.MemberStatuses, func(m v1beta2.MemberStatus) bool { return m.Name == b.Name }) {
			b.Ready = false
			if b.Role == v1beta2.MemberLeader {
				b.Role = v1beta2.MemberVoter
			}
			status.Members.Unready = append(status.Members.Unready, b.Name)
			status.MemberStatuses = append(status.MemberStatuses, b)
		}
	}
	slices.Sort(status.Members.Unready)
	slices.SortFunc(status.MemberStatuses, func(a, b v1beta2.MemberStatus) int { return cmp.Compare(a.Name, b.Name) })
}

// idOf keeps the ID that a quorum last answered with: it tells the operator's own members from foreign ones.
func idOf(s state.State, m state.Member) string {
	id := m.ID
	if id == 0 && !s.MembershipKnown {
		id = s.KnownIDs[m.Name]
	}
	if id == 0 {
		return ""
	}
	return id.String()
}

// roleOf keeps the last known role while there is no quorum to ask: the number of voters decides
// whether enough of them are left.
func roleOf(s state.State, m state.Member, before []v1beta2.MemberStatus) v1beta2.MemberRole {
	switch {
	case m.Leader && m.Answers:
		return v1beta2.MemberLeader
	case s.MembershipKnown && m.Learner:
		return v1beta2.MemberLearner
	case s.MembershipKnown:
		return v1beta2.MemberVoter
	case s.Witness != "" && slices.Contains(s.KnownVoters, m.Name):
		return v1beta2.MemberVoter
	case s.Witness != "" && (m.Learner || recovery.LearnsFromWitness(s, m.Name)):
		return v1beta2.MemberLearner
	case s.Witness != "":
		return ""
	}
	for _, b := range before {
		if b.Name == m.Name && b.Role == v1beta2.MemberLeader {
			return v1beta2.MemberVoter
		}
		if b.Name == m.Name {
			return b.Role
		}
	}
	return ""
}

// steady keeps a database size that differs by less than a tenth: a busy cluster must not cause a status write
// at every look.
func steady(before, now int64) int64 {
	if now == 0 || abs(now-before)*10 < now {
		return before
	}
	return now
}

func abs(n int64) int64 { return max(n, -n) }

package etcd

// Quorum is the number of voters that must agree among n: a majority.
func Quorum(n int) int { return n/2 + 1 }

// Voters counts a membership: how many vote, and how many of those are healthy. Learners count as nothing.
type Voters struct{ Total, Healthy int }

// HasQuorum says whether the healthy voters can agree.
func (v Voters) HasQuorum() bool { return v.Total > 0 && v.Healthy >= Quorum(v.Total) }

// KeepsQuorumWithout says whether the cluster keeps quorum when one voter leaves the membership.
func (v Voters) KeepsQuorumWithout(healthy bool) bool {
	after := Voters{Total: v.Total - 1, Healthy: v.Healthy}
	if healthy {
		after.Healthy--
	}
	return after.HasQuorum()
}

// KeepsQuorumWhileStopped says whether the cluster keeps quorum while one voter is stopped and stays a member.
func (v Voters) KeepsQuorumWhileStopped(healthy bool) bool {
	if healthy {
		v.Healthy--
	}
	return v.HasQuorum()
}

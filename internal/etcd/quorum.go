package etcd

import (
	"context"
	"fmt"
)

// Quorum returns how many of n voters must agree: a majority.
func Quorum(n int) int { return n/2 + 1 }

// Voters is the number of voters of a membership, and how many of them are healthy. Learners are not counted.
type Voters struct{ Total, Healthy int }

// HasQuorum reports whether the healthy voters are a majority.
func (v Voters) HasQuorum() bool { return v.Total > 0 && v.Healthy >= Quorum(v.Total) }

// KeepsQuorumWithout reports whether the cluster keeps quorum after one voter is removed from the membership.
// healthy is the state of that voter.
func (v Voters) KeepsQuorumWithout(healthy bool) bool {
	after := Voters{Total: v.Total - 1, Healthy: v.Healthy}
	if healthy {
		after.Healthy--
	}
	return after.HasQuorum()
}

// KeepsQuorumWhileStopped reports whether the cluster keeps quorum while one voter is stopped but remains a member.
// healthy is the state of that voter.
func (v Voters) KeepsQuorumWhileStopped(healthy bool) bool {
	if healthy {
		v.Healthy--
	}
	return v.HasQuorum()
}

// Healthy returns nil if a member has a leader and serves linearizable reads, and no alarm is on. It asks the member at "host:port"
// over plain HTTP. Do not ask etcd 3.4: it writes each such question into its log.
func Healthy(ctx context.Context, address string) error {
	body, err := Get(ctx, address, "/health", 0)
	if err != nil {
		return fmt.Errorf("check the health of %s: %w", address, err)
	}
	_ = body.Close()
	return nil
}

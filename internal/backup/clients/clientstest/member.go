// Package clientstest has answers of members, for tests.
package clientstest

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

const leaderID = 99

// Member is a healthy voter at that revision.
func Member(url string, revision int64, changes ...func(*ask.Answer)) ask.Answer {
	a := ask.Answer{URL: url, Status: etcd.Status{ClusterID: 1, MemberID: etcd.ID(len(url)), LeaderID: leaderID, Revision: revision}}
	for _, c := range changes {
		c(&a)
	}
	return a
}

// Leads makes the member the leader.
func Leads(a *ask.Answer) { a.Status.MemberID = leaderID }

// Learns makes the member a learner.
func Learns(a *ask.Answer) { a.Status.Learner = true }

// IsDown is a member that does not answer.
func IsDown(a *ask.Answer) {
	*a = ask.Answer{URL: a.URL, Err: errors.New("status at " + a.URL + ": connection refused")}
}

// NoQuorum is a member that has no quorum behind it.
func NoQuorum(a *ask.Answer) {
	a.NotServing = errors.New("linearizable read at " + a.URL + ": timed out")
}

// Refuses is a member whose authentication is on.
func Refuses(a *ask.Answer) {
	a.NotServing = fmt.Errorf("linearizable read at %s: %w", a.URL, rpctypes.ErrUserEmpty)
}

// OfCluster2 is a member of another cluster.
func OfCluster2(a *ask.Answer) { a.Status.ClusterID = 2 }

// IsCorrupt is a member with the alarm CORRUPT.
func IsCorrupt(a *ask.Answer) {
	a.Status.MemberID = 7
	a.Status.Errors = []string{"memberID:7 alarm:CORRUPT "}
}

// SeesCorrupt is a member that knows the alarm of IsCorrupt.
func SeesCorrupt(a *ask.Answer) { a.Status.Errors = []string{"memberID:7 alarm:CORRUPT "} }

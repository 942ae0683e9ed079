package backup

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

const leaderID = 99

// member is a healthy voter at that revision.
func member(url string, revision int64, changes ...func(*ask.Answer)) ask.Answer {
	a := ask.Answer{URL: url, Status: etcd.Status{ClusterID: 1, MemberID: etcd.ID(len(url)), LeaderID: leaderID, Revision: revision}}
	for _, c := range changes {
		c(&a)
	}
	return a
}

func leads(a *ask.Answer)  { a.Status.MemberID = leaderID }
func learns(a *ask.Answer) { a.Status.Learner = true }
func isDown(a *ask.Answer) {
	*a = ask.Answer{URL: a.URL, Err: errors.New("status at " + a.URL + ": connection refused")}
}
func noQuorum(a *ask.Answer) {
	a.NotServing = errors.New("linearizable read at " + a.URL + ": timed out")
}
func refuses(a *ask.Answer) {
	a.NotServing = fmt.Errorf("linearizable read at %s: %w", a.URL, rpctypes.ErrUserEmpty)
}
func ofCluster2(a *ask.Answer) { a.Status.ClusterID = 2 }
func isCorrupt(a *ask.Answer) {
	a.Status.MemberID = 7
	a.Status.Errors = []string{"memberID:7 alarm:CORRUPT "}
}
func seesCorrupt(a *ask.Answer) { a.Status.Errors = []string{"memberID:7 alarm:CORRUPT "} }

func TestTheSnapshotIsTakenFromTheBestVoter(t *testing.T) {
	const id = "0000000000000001"
	tests := map[string]struct {
		answers []ask.Answer
		cluster string
		want    string
	}{
		"takes the only member although it is the leader":    {[]ask.Answer{member("a", 5, leads)}, "", "a"},
		"prefers a follower to the leader":                   {[]ask.Answer{member("a", 9, leads), member("bb", 5)}, "", "bb"},
		"takes the voter with the highest revision":          {[]ask.Answer{member("a", 5), member("bb", 7), member("ccc", 6)}, "", "bb"},
		"takes the first of two equal voters":                {[]ask.Answer{member("bb", 5), member("a", 5)}, "", "a"},
		"takes a member if another endpoint is down":         {[]ask.Answer{member("a", 9, isDown), member("bb", 5)}, "", "bb"},
		"takes no learner":                                   {[]ask.Answer{member("a", 9, learns), member("bb", 5, leads)}, "", "bb"},
		"takes no member without a quorum":                   {[]ask.Answer{member("a", 9, noQuorum), member("bb", 5, leads)}, "", "bb"},
		"takes no member whose data differs from the others": {[]ask.Answer{member("a", 9, isCorrupt), member("bb", 5, leads, seesCorrupt)}, "", "bb"},
		"ignores a member of another cluster":                {[]ask.Answer{member("a", 9, ofCluster2), member("bb", 5, leads)}, id, "bb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := choose(test.answers, test.cluster, false)
			if err != nil {
				t.Fatal(err)
			}
			if got.URL != test.want {
				t.Errorf("chose %s, want %s", got.URL, test.want)
			}
		})
	}
}

func TestNoMemberIsChosenAmong(t *testing.T) {
	tests := map[string]struct {
		answers []ask.Answer
		cluster string
		reason  string
		says    []string
	}{
		"endpoints that do not answer": {
			[]ask.Answer{member("a", 0, isDown), member("bb", 0, isDown)}, "",
			"EndpointUnreachable", []string{"None of the 2 endpoints", "status at a: connection refused", "status at bb: connection refused"},
		},
		"endpoints of two clusters": {
			[]ask.Answer{member("a", 5), member("bb", 5, ofCluster2)}, "",
			"InvalidSpec", []string{"a is a member of cluster 0000000000000001", "bb is a member of cluster 0000000000000002"},
		},
		"members of another cluster only": {
			[]ask.Answer{member("a", 5, ofCluster2), member("bb", 0, isDown)}, "0000000000000001",
			"ClusterNotAvailable", []string{"a is a member of cluster 0000000000000002", "status at bb"},
		},
		"members without quorum": {
			[]ask.Answer{member("a", 5, noQuorum)}, "",
			"ClusterNotAvailable", []string{"linearizable read at a: timed out", "quorum"},
		},
		"learners only": {
			[]ask.Answer{member("a", 5, learns)}, "",
			"ClusterNotAvailable", []string{"a is a learner"},
		},
		"corrupt members only": {
			[]ask.Answer{member("a", 5, isCorrupt)}, "",
			"ClusterNotAvailable", []string{"a has the alarm CORRUPT"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := choose(test.answers, test.cluster, false)
			var failure *failedError
			if !errors.As(err, &failure) {
				t.Fatalf("error %v", err)
			}
			if failure.Reason != test.reason {
				t.Errorf("reason %s, want %s", failure.Reason, test.reason)
			}
			for _, part := range test.says {
				if !strings.Contains(failure.Message, part) {
					t.Errorf("%q does not say %q", failure.Message, part)
				}
			}
		})
	}
}

func TestAnEtcdClusterIsSavedWithTheSecretsOfItsOperators(t *testing.T) {
	status := v1beta2.EtcdClusterStatus{ClientTLSSecret: "clients", OperatorTLSSecret: "operators", OperatorAuthSecret: "user"}
	if got := clusterOf(&v1beta2.EtcdCluster{Status: status}); got.TLSSecret != "operators" || got.AuthSecret != "user" {
		t.Errorf("the Secrets are %s and %s", got.TLSSecret, got.AuthSecret)
	}
	status.OperatorTLSSecret = "" // of an older cluster-operator
	if got := clusterOf(&v1beta2.EtcdCluster{Status: status}); got.TLSSecret != "clients" {
		t.Errorf("the Secret is %s", got.TLSSecret)
	}
}

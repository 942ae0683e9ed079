package clients

import (
	"errors"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/backup/clients/clientstest"
	"github.com/etcd-suite/etcd-operator/internal/backup/failure"
	"github.com/etcd-suite/etcd-operator/internal/etcd/ask"
)

func TestTheSnapshotIsTakenFromTheBestVoter(t *testing.T) {
	const id = "0000000000000001"
	tests := map[string]struct {
		answers []ask.Answer
		cluster string
		want    string
	}{
		"takes the only member although it is the leader":    {[]ask.Answer{clientstest.Member("a", 5, clientstest.Leads)}, "", "a"},
		"prefers a follower to the leader":                   {[]ask.Answer{clientstest.Member("a", 9, clientstest.Leads), clientstest.Member("bb", 5)}, "", "bb"},
		"takes the voter with the highest revision":          {[]ask.Answer{clientstest.Member("a", 5), clientstest.Member("bb", 7), clientstest.Member("ccc", 6)}, "", "bb"},
		"takes the first of two equal voters":                {[]ask.Answer{clientstest.Member("bb", 5), clientstest.Member("a", 5)}, "", "a"},
		"takes a member if another endpoint is down":         {[]ask.Answer{clientstest.Member("a", 9, clientstest.IsDown), clientstest.Member("bb", 5)}, "", "bb"},
		"takes no learner":                                   {[]ask.Answer{clientstest.Member("a", 9, clientstest.Learns), clientstest.Member("bb", 5, clientstest.Leads)}, "", "bb"},
		"takes no member without a quorum":                   {[]ask.Answer{clientstest.Member("a", 9, clientstest.NoQuorum), clientstest.Member("bb", 5, clientstest.Leads)}, "", "bb"},
		"takes no member whose data differs from the others": {[]ask.Answer{clientstest.Member("a", 9, clientstest.IsCorrupt), clientstest.Member("bb", 5, clientstest.Leads, clientstest.SeesCorrupt)}, "", "bb"},
		"ignores a member of another cluster":                {[]ask.Answer{clientstest.Member("a", 9, clientstest.OfCluster2), clientstest.Member("bb", 5, clientstest.Leads)}, id, "bb"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Choose(test.answers, test.cluster, false)
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
			[]ask.Answer{clientstest.Member("a", 0, clientstest.IsDown), clientstest.Member("bb", 0, clientstest.IsDown)}, "",
			"EndpointUnreachable", []string{"None of the 2 endpoints", "status at a: connection refused", "status at bb: connection refused"},
		},
		"endpoints of two clusters": {
			[]ask.Answer{clientstest.Member("a", 5), clientstest.Member("bb", 5, clientstest.OfCluster2)}, "",
			"InvalidSpec", []string{"a is a member of cluster 0000000000000001", "bb is a member of cluster 0000000000000002"},
		},
		"members of another cluster only": {
			[]ask.Answer{clientstest.Member("a", 5, clientstest.OfCluster2), clientstest.Member("bb", 0, clientstest.IsDown)}, "0000000000000001",
			"ClusterNotAvailable", []string{"a is a member of cluster 0000000000000002", "status at bb"},
		},
		"members without quorum": {
			[]ask.Answer{clientstest.Member("a", 5, clientstest.NoQuorum)}, "",
			"ClusterNotAvailable", []string{"linearizable read at a: timed out", "quorum"},
		},
		"learners only": {
			[]ask.Answer{clientstest.Member("a", 5, clientstest.Learns)}, "",
			"ClusterNotAvailable", []string{"a is a learner"},
		},
		"corrupt members only": {
			[]ask.Answer{clientstest.Member("a", 5, clientstest.IsCorrupt)}, "",
			"ClusterNotAvailable", []string{"a has the alarm CORRUPT"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Choose(test.answers, test.cluster, false)
			var failure *failure.Error
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

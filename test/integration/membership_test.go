package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// A voter is added to a cluster of one and never started, so the cluster has no quorum. How many voters there are decides what may be
// done, and only the member itself still knows.
func TestAMemberWithoutQuorumAnswersWithTheMembershipThatItHasApplied(t *testing.T) {
	t.Parallel()
	for _, minor := range []string{"3.4", "3.5", "3.6", "3.7"} {
		t.Run(minor, func(t *testing.T) {
			t.Parallel()
			cluster := servers.Etcd(t, servers.EtcdOptions{Minor: minor})
			member := ask(t, cluster.Members[0])
			peerURL := servers.PeerURL(t)
			eventually(t, "a voter is added", func(ctx context.Context) error { return member.AddVoter(ctx, peerURL) })
			eventually(t, "the member has no leader", func(ctx context.Context) error {
				status, err := member.Status(ctx)
				if err == nil && status.LeaderID != 0 {
					err = fmt.Errorf("the leader is %s", status.LeaderID)
				}
				return err
			})
			brief, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if member.Serving(brief) == nil {
				t.Fatal("the member serves without a quorum")
			}
			known, err := member.MembersKnown(t.Context())
			if err != nil || len(known) != 2 {
				t.Fatalf("the member knows %+v: %v", known, err)
			}
			if added := other(known, cluster.Members[0].Name); added.Name != "" || len(added.PeerURLs) != 1 || added.PeerURLs[0] != peerURL || added.Learner {
				t.Errorf("the added voter is %+v", added)
			}
		})
	}
}

func other(members []etcd.Member, name string) etcd.Member {
	for _, m := range members {
		if m.Name != name {
			return m
		}
	}
	return etcd.Member{}
}

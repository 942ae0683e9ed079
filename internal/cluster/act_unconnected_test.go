package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// judging is a member that refuses changes unless it is connected to all voters.
type judging struct {
	changing
	connected bool
}

func (j judging) Remove(ctx context.Context, id etcd.ID) error {
	if err := j.changing.Remove(ctx, id); err != nil || j.connected {
		return err
	}
	return fmt.Errorf("remove member: %w", errors.Join(etcd.ErrNotYet, etcd.ErrUnconnected))
}

// After all members of a cluster had started together, its leader took a peer for unconnected that it had streams with, and refused each change for
// good. The other members would have accepted it.
func TestAChangeThatTheLeaderRefusesIsAskedOfTheOthers(t *testing.T) {
	for name, test := range map[string]struct {
		connected []bool
		asked     int
		refused   bool
	}{
		"the leader is connected":   {[]bool{true, true, true}, 1, false},
		"another one is connected":  {[]bool{false, true, true}, 2, false},
		"no member that may answer": {[]bool{false, false, true}, 2, true},
	} {
		r, v := beside(t)
		v.State = state(formed, members(3))
		asked := 0
		for i := range v.Members {
			v.addresses[v.Members[i].Name] = fmt.Sprintf("192.0.2.%d", i)
		}
		r.Dial = func(e etcd.Endpoint, _ *tls.Config) (Etcd, error) {
			i := slices.IndexFunc(v.Members, func(m plan.Member) bool { return v.ClientURL(m.Name) == e.URL })
			status := etcd.Status{ClusterID: v.Members[i].ClusterID, MemberID: v.Members[i].ID}
			return judging{changing{status: status, changes: &asked}, test.connected[i]}, nil
		}
		err := r.withServing(t.Context(), v, nameOf(2), func(member Etcd) error { return member.Remove(t.Context(), 3) })
		if asked != test.asked || (err != nil) != test.refused {
			t.Errorf("%s: %d members were asked, expected %d; error %v", name, asked, test.asked, err)
		}
	}
}

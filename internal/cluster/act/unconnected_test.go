package act

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
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
// good. The other members would have accepted it. But the leader is mostly right, for example for 5 s after a member was added. So the others are asked
// only if it refuses for long.
func TestAChangeThatTheLeaderRefusesIsAskedOfTheOthers(t *testing.T) {
	remove := steps.RemoveMember{Name: plantest.NameOf(2), ID: 3}
	for name, test := range map[string]struct {
		connected []bool
		lasted    time.Duration
		asked     int
		refused   bool
	}{
		"the leader is connected":                          {[]bool{true, true, true}, time.Hour, 1, false},
		"another one is connected":                         {[]bool{false, true, true}, time.Minute, 2, false},
		"another one is connected, but the refusal is new": {[]bool{false, true, true}, 59 * time.Second, 1, true},
		"no member that may answer":                        {[]bool{false, false, true}, time.Hour, 2, true},
	} {
		a, v := actorBeside(t)
		v.State = clustertest.State(plantest.Formed, plantest.Members(3))
		v.Waiting.Saw(plan.Waits(v.State, plan.RefusedForNow(v.State, remove, "")), v.Now.Add(-test.lasted))
		asked := 0
		for i := range v.Members {
			v.Addresses[v.Members[i].Name] = fmt.Sprintf("192.0.2.%d", i)
		}
		a.confirmer.Connections.Dial = func(e etcd.Endpoint, _ *tls.Config) (members.Etcd, error) {
			i := slices.IndexFunc(v.Members, func(m state.Member) bool { return state.ClientURL(v.State, m.Name) == e.URL })
			status := etcd.Status{ClusterID: v.Members[i].ClusterID, MemberID: v.Members[i].ID}
			return judging{changing{status: status, changes: &asked}, test.connected[i]}, nil
		}
		err := a.Act(t.Context(), v, remove)
		if asked != test.asked || (err != nil) != test.refused {
			t.Errorf("%s: %d members were asked, expected %d; error %v", name, asked, test.asked, err)
		}
	}
}

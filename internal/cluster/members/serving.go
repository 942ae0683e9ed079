package members

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// WithServing talks to a member of the current incarnation that serves, the leader if it can be, but not to the one named.
func (c *Connections) WithServing(ctx context.Context, v *view.View, not string, do func(Etcd) error) error {
	names := serving(v, not)
	if len(names) == 0 {
		return fmt.Errorf("no member serves: %w", etcd.ErrNotYet)
	}
	return c.With(ctx, v, names[0], do)
}

// ChangeMembers is WithServing for a change of the membership. The member that is asked refuses it if it has no connection to all voters. That protects
// the quorum, but etcd can be wrong for good. So if it refuses for long, the others are asked, too: each judges by its own connections.
func (c *Connections) ChangeMembers(ctx context.Context, v *view.View, step steps.Step, not string, do func(Etcd) error) error {
	err := c.WithServing(ctx, v, not, do)
	if !errors.Is(err, etcd.ErrUnconnected) || !plan.RefusedForLong(v.State, step) {
		return err
	}
	for _, name := range serving(v, not)[1:] {
		if err = c.With(ctx, v, name, do); !errors.Is(err, etcd.ErrUnconnected) {
			return err
		}
	}
	return err
}

// serving returns the members that serve, but not the one named, the leader first.
func serving(v *view.View, not string) (names []string) {
	for _, m := range v.Current() {
		switch {
		case !m.Serving || m.Name == not:
		case m.Leader:
			names = append([]string{m.Name}, names...)
		default:
			names = append(names, m.Name)
		}
	}
	return names
}

// Fence has etcd refuse all writes.
func (c *Connections) Fence(ctx context.Context, v *view.View, step steps.FenceWrites) error {
	fence := func(member Etcd) (err error) { v.FencedAt, err = member.Fence(ctx, step.ID); return err }
	if step.Seed != "" {
		return c.With(ctx, v, step.Seed, fence)
	}
	return c.WithServing(ctx, v, "", fence)
}

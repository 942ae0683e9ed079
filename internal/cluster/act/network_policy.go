package act

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ErrNoPeers is for a NetworkPolicy without the operators, which would cut them off.
var ErrNoPeers = errors.New("the operator does not know what it must allow")

// applyNetworkPolicy brings the NetworkPolicy to what the step asks.
func (a *objectActs) applyNetworkPolicy(ctx context.Context, v *view.View, step steps.ApplyNetworkPolicy) error {
	if a.NetworkPeers == nil {
		return fmt.Errorf("apply NetworkPolicy %s: %w", v.Name, ErrNoPeers)
	}
	return a.apply(ctx, v, objects.NetworkPolicy(v.State, step, *a.NetworkPeers))
}

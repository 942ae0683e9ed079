package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// StopNode cuts the node's power: it is off the network and every process on
// it ends at once. What it wrote stays.
func (c *Cluster) StopNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	if err := setLink(ctx, n, false); err != nil {
		return err
	}
	if err := c.cgroups.kill(ctx, n.unit()); err != nil {
		return err
	}
	return c.rerouteServices(ctx)
}

// StartNode starts a stopped node and returns when it is Ready and has begun
// to start its Pods again: what Kubernetes says of others may be old for some
// seconds more. Their containers are made anew; volumes and images are as they
// were.
func (c *Cluster) StartNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	pids, err := c.cgroups.processes(n.unit())
	if err != nil {
		return err
	}
	if len(pids) > 0 {
		return fmt.Errorf("%s runs already", n)
	}
	begin := time.Now()
	if err := setLink(ctx, n, true); err != nil {
		return err
	}
	containerd, err := c.startContainerd(ctx, n)
	if err != nil {
		return err
	}
	if _, err := c.startKubelet(n, containerd); err != nil {
		return err
	}
	if err := c.rerouteServices(ctx); err != nil {
		return err
	}
	return c.waitReady(ctx, []node{n}, begin, 2*time.Minute)
}

// FreezeNode stops every process on the node where it stands, as a machine
// that hangs: it keeps its connections and answers nothing. ThawNode lets
// them go on.
func (c *Cluster) FreezeNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	if missing, err := c.missingPrograms(n.unit()); err != nil || len(missing) > 0 {
		return errors.Join(err, fmt.Errorf("%s does not run: it lacks %v", n, missing))
	}
	return c.cgroups.freeze(ctx, n.unit(), true)
}

// ThawNode undoes FreezeNode.
func (c *Cluster) ThawNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	return c.cgroups.freeze(ctx, n.unit(), false)
}

// CutNode takes the node off the network: its processes run on, and reach
// nothing outside it. JoinNode puts it back.
func (c *Cluster) CutNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	if err := setLink(ctx, n, false); err != nil {
		return err
	}
	return c.rerouteServices(ctx)
}

// JoinNode undoes CutNode.
func (c *Cluster) JoinNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	if err := setLink(ctx, n, true); err != nil {
		return err
	}
	return c.rerouteServices(ctx)
}

// rerouteServices lets the host reach Services through the first node that is
// on the network.
func (c *Cluster) rerouteServices(ctx context.Context) error {
	for _, n := range c.nodes() {
		up, err := linkUp(ctx, n)
		if err != nil {
			return err
		}
		if up {
			return routeServices(ctx, n)
		}
	}
	return nil
}

// repairNode undoes every fault of the node, and says whether there was one.
func (c *Cluster) repairNode(ctx context.Context, n node) (bool, error) {
	s, err := c.nodeStatus(ctx, n)
	if err != nil || s == (NodeStatus{Name: n.String(), Running: true, Joined: true}) {
		return false, err
	}
	number := int(n)
	if err := c.UnfillNode(ctx, number); err != nil {
		return false, err
	}
	if !s.Running {
		missing, err := c.missingPrograms(n.unit())
		if err != nil {
			return false, err
		}
		if err := c.StopNode(ctx, number); err != nil {
			return false, err
		}
		c.say("%s: starting it, since it lacks %v", n, missing)
		return true, c.StartNode(ctx, number)
	}
	if err := c.ThawNode(ctx, number); err != nil {
		return false, err
	}
	return true, c.JoinNode(ctx, number)
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// StopNode simulates a power failure: it disconnects the node's network and kills
// every process on it. The node's files are kept.
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

// StartNode starts a stopped node. It returns when the node is Ready and its DNS
// Pod runs; the status of other Pods may be outdated for a few seconds more. The
// kubelet recreates all containers. Volumes and images are kept.
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
		return fmt.Errorf("%s is already running", n)
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

// FreezeNode freezes every process on the node, like a machine that hangs: its
// connections stay open, but it sends nothing. ThawNode resumes the processes.
func (c *Cluster) FreezeNode(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	if missing, err := c.missingPrograms(n.unit()); err != nil || len(missing) > 0 {
		return errors.Join(err, fmt.Errorf("%s cannot be frozen because these programs are not running: %s", n, strings.Join(missing, ", ")))
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

// CutNode disconnects the node from the network. Its processes keep running, but
// reach nothing outside the node. JoinNode reconnects it.
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

// rerouteServices routes this machine's traffic for Services through the first
// node that is connected.
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

// repairNode undoes every fault of the node and reports whether there was one.
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
		c.logf("%s: restarting it because these programs are not running: %s", n, strings.Join(missing, ", "))
		return true, c.StartNode(ctx, number)
	}
	if err := c.ThawNode(ctx, number); err != nil {
		return false, err
	}
	return true, c.JoinNode(ctx, number)
}

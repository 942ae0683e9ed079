package cluster

import (
	"context"
	"fmt"
	"strings"
)

// blockPriority is the priority of the routing rules that drop packets. No other rule has it.
const blockPriority = "100"

// BlockTraffic drops all packets from one Pod address to others, on every node, as a NetworkPolicy does. Probes of the
// kubelet and packets in the other direction pass. UnblockTraffic ends it.
func (c *Cluster) BlockTraffic(ctx context.Context, from string, to ...string) error {
	for _, n := range c.nodes() {
		b := &batch{namespace: n.unit()}
		for _, address := range to {
			b.add("rule add priority %s from %s to %s blackhole", blockPriority, from, address)
		}
		if err := b.run(ctx); err != nil {
			return fmt.Errorf("block the traffic from %s on %s: %w", from, n, err)
		}
	}
	return nil
}

// CutAPIServer drops all packets from a node and its Pods to the API server. The Pods still reach each other and their clients. UnblockTraffic ends it.
func (c *Cluster) CutAPIServer(ctx context.Context, number int) error {
	n, err := c.pick(number)
	if err != nil {
		return err
	}
	b := &batch{namespace: n.unit()}
	b.add("rule add priority %s to %s ipproto tcp dport 6443 blackhole", blockPriority, controlAddress)
	if err := b.run(ctx); err != nil {
		return fmt.Errorf("cut %s off from the API server: %w", n, err)
	}
	return nil
}

// UnblockTraffic undoes every BlockTraffic and CutAPIServer.
func (c *Cluster) UnblockTraffic(ctx context.Context) error {
	for _, n := range c.nodes() {
		rules, err := execute(ctx, "", "ip", "-n", n.unit(), "rule", "show", "priority", blockPriority)
		if err != nil {
			return fmt.Errorf("list the blocked traffic on %s: %w", n, err)
		}
		b := &batch{namespace: n.unit()}
		for range strings.Count(rules, "blackhole") {
			b.add("rule delete priority %s", blockPriority)
		}
		if len(b.lines) == 0 {
			continue
		}
		if err := b.run(ctx); err != nil {
			return fmt.Errorf("unblock the traffic on %s: %w", n, err)
		}
	}
	return nil
}

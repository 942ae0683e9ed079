package cluster

import (
	"context"
	"fmt"
	"strings"
)

// policyPriority is the priority of the routing rules that enforce NetworkPolicies. No other rule has it.
const policyPriority = "101"

// A BlockedPort is a TCP port of a Pod address that another Pod address must not reach.
type BlockedPort struct {
	From, To string
	Port     int32
}

// BlockPorts drops the packets to exactly these ports, on every node. It ends what an earlier call blocked. The CNI plugins enforce
// no NetworkPolicy, so a test evaluates the policies and calls it. Probes of the kubelet and answers pass.
func (c *Cluster) BlockPorts(ctx context.Context, blocked ...BlockedPort) error {
	for _, n := range c.nodes() {
		rules, err := execute(ctx, "", "ip", "-n", n.unit(), "rule", "show", "priority", policyPriority)
		if err != nil {
			return fmt.Errorf("list the blocked ports on %s: %w", n, err)
		}
		b := &batch{namespace: n.unit()}
		for range strings.Count(rules, "blackhole") {
			b.add("rule delete priority %s", policyPriority)
		}
		for _, port := range blocked {
			b.add("rule add priority %s from %s to %s ipproto tcp dport %d blackhole", policyPriority, port.From, port.To, port.Port)
		}
		if len(b.lines) == 0 {
			continue
		}
		if err := b.run(ctx); err != nil {
			return fmt.Errorf("block ports on %s: %w", n, err)
		}
	}
	return nil
}

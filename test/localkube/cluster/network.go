package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

const netnsDir = "/run/netns"

func netnsPath(name string) string { return filepath.Join(netnsDir, name) }

// A batch is the input of one "ip -batch" in one network namespace.
type batch struct {
	namespace string // "" is that of this machine
	lines     []string
}

func (b *batch) add(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...))
}

func (b *batch) run(ctx context.Context) error {
	args := []string{"ip", "-batch", "-"}
	if b.namespace != "" {
		args = []string{"ip", "-n", b.namespace, "-batch", "-"}
	}
	_, err := execute(ctx, strings.Join(b.lines, "\n")+"\n", args...)
	return err
}

// network returns the commands that create the network of these nodes, in order.
//
// The fabric is a bridge in its own namespace. This machine, the control plane and
// every node connect to it. No namespace has a default route, so addresses outside
// the plan are unreachable.
func network(nodes []node) []*batch {
	host := &batch{}
	bridge := &batch{namespace: fabric}
	host.add("netns add %s", fabric)
	bridge.add("link add fabric type bridge")
	bridge.add("link set fabric up")
	host.add("link add %s type veth peer name host netns %s", hostLink, fabric)
	host.add("address add %s/24 dev %s", hostAddress, hostLink)
	host.add("link set %s up", hostLink)
	bridge.add("link set host master fabric up")

	links := []*batch{connect(host, bridge, control, "control", controlAddress)}
	for _, n := range nodes {
		l := connect(host, bridge, n.unit(), n.String(), n.address())
		// kube-proxy rewrites packets to Services before they leave the node, but
		// the kernel drops packets without a route before that. Any device will do.
		l.add("link add services type bridge")
		l.add("link set services up")
		l.add("route add %s dev services", services)
		links = append(links, l)
		host.add("route add %s via %s", n.pods(), n.address())
	}
	for i, l := range links {
		for j, n := range nodes {
			if i != j+1 { // links[0] belongs to the control plane
				l.add("route add %s via %s", n.pods(), n.address())
			}
		}
	}
	host.add("route add %s via %s", services, nodes[0].address())
	return append([]*batch{host, bridge}, links...)
}

// connect creates a namespace and connects it to the fabric.
func connect(host, bridge *batch, namespace, port, address string) *batch {
	host.add("netns add %s", namespace)
	host.add("link add eth0 netns %s type veth peer name %s netns %s", namespace, port, fabric)
	bridge.add("link set %s master fabric up", port)
	l := &batch{namespace: namespace}
	l.add("link set lo up")
	l.add("address add %s/24 dev eth0", address)
	l.add("link set eth0 up")
	return l
}

// makeNetwork creates the network. No part of it may exist.
func (c *Cluster) makeNetwork(ctx context.Context) error {
	routes, err := execute(ctx, "", "ip", "-4", "route", "show", "to", "root", wholeRange)
	if err != nil {
		return fmt.Errorf("list the routes in %s: %w", wholeRange, err)
	}
	if routes = strings.TrimSpace(routes); routes != "" {
		return fmt.Errorf("this machine already has routes in %s, which the local cluster needs. Disconnect the VPN or network that uses them:\n%s", wholeRange, routes)
	}
	for _, b := range network(c.nodes()) {
		if err := b.run(ctx); err != nil {
			return fmt.Errorf("create the network: %w", err)
		}
	}
	for _, n := range c.nodes() {
		if _, err := execute(ctx, "1\n", "nsenter", "--net="+netnsPath(n.unit()), "--", "tee", "/proc/sys/net/ipv4/ip_forward"); err != nil {
			return fmt.Errorf("enable IP forwarding on %s: %w", n, err)
		}
	}
	return nil
}

// removeNetwork removes all namespaces and links of the local cluster.
func removeNetwork(ctx context.Context) error {
	names, err := namespaces()
	if err != nil {
		return err
	}
	b := &batch{}
	// /sys/class/net is not used because it may show the links of another network namespace.
	if _, err := net.InterfaceByName(hostLink); err == nil {
		b.add("link delete %s", hostLink)
	}
	for _, name := range names {
		b.add("netns delete %s", name)
	}
	if len(b.lines) == 0 {
		return nil
	}
	if err := b.run(ctx); err != nil {
		return fmt.Errorf("remove the network: %w", err)
	}
	return nil
}

func namespaces() ([]string, error) {
	entries, err := os.ReadDir(netnsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the network namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// removePodLinks deletes the links that a node's Pods have left. The kernel deletes them itself, but only some time after
// the last process of a Pod ended. Until then the route to the Pod's address is kept. If a new Pod gets that address, the CNI
// plugin keeps the old route as well, and the new Pod has no network.
func removePodLinks(ctx context.Context, namespace string) error {
	links, err := podLinks(ctx, namespace)
	if err != nil {
		return err
	}
	var failed error
	for _, link := range links {
		if _, err := execute(ctx, "", "ip", "-n", namespace, "link", "delete", link); err != nil {
			failed = err // or the kernel was faster
		}
	}
	left, err := podLinks(ctx, namespace)
	if err == nil && len(left) > 0 {
		err = errors.Join(fmt.Errorf("the links %s of ended Pods are left in %s", strings.Join(left, " "), namespace), failed)
	}
	return err
}

// podLinks lists the links to Pods: those to another namespace, but for the node's own.
func podLinks(ctx context.Context, namespace string) ([]string, error) {
	out, err := execute(ctx, "", "ip", "-n", namespace, "-o", "link", "show", "type", "veth")
	if err != nil {
		return nil, fmt.Errorf("list the links of %s: %w", namespace, err)
	}
	var links []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		_, rest, _ := strings.Cut(line, ": ") // 4: veth1234@if2: <BROADCAST,UP> ...
		if name, _, found := strings.Cut(rest, "@"); found && name != "eth0" {
			links = append(links, name)
		}
	}
	return links, nil
}

// setLink connects the node to the fabric or disconnects it. It changes the
// bridge's end of the link, so the node loses its carrier.
func setLink(ctx context.Context, n node, up bool) error {
	state := map[bool]string{true: "up", false: "down"}[up]
	if _, err := execute(ctx, "", "ip", "-n", fabric, "link", "set", n.String(), state); err != nil {
		return fmt.Errorf("set the link of %s %s: %w", n, state, err)
	}
	return nil
}

// linkUp reports whether the node is connected to the fabric.
func linkUp(ctx context.Context, n node) (bool, error) {
	out, err := execute(ctx, "", "ip", "-n", fabric, "-o", "link", "show", "dev", n.String(), "up")
	if err != nil {
		return false, fmt.Errorf("read the link of %s: %w", n, err)
	}
	return strings.TrimSpace(out) != "", nil
}

// routeServices routes this machine's traffic for Services through the node.
func routeServices(ctx context.Context, n node) error {
	if _, err := execute(ctx, "", "ip", "route", "replace", services, "via", n.address()); err != nil {
		return fmt.Errorf("route Services through %s: %w", n, err)
	}
	return nil
}

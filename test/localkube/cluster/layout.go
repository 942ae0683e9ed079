// Package cluster runs a real Kubernetes on one machine: a control plane and
// up to MaxNodes nodes, each in a network namespace of its own, joined by a
// bridge that leads nowhere else.
//
// Everything it makes carries the prefix lk- (network namespaces, links,
// cgroups) or lies in the state directory, and what runs is found again by
// its cgroup, never by a name or a remembered process ID.
package cluster

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// MaxNodes is the most nodes that the address plan is made for.
const MaxNodes = 9

// The address plan. 198.18.0.0/15 is kept for benchmarks (RFC 2544): it is no
// machine's real network, and nothing routes it.
const (
	allPods        = "198.18.0.0/17"
	services       = "198.19.0.0/16"
	firstService   = "198.19.0.1"
	dnsService     = "198.19.0.10"
	hostAddress    = "198.18.255.253"
	controlAddress = "198.18.255.254"
	wholeRange     = "198.18.0.0/15"
)

const (
	fabric   = "lk-fabric"  // namespace of the bridge
	control  = "lk-control" // namespace and cgroup of the control plane
	hostLink = "lk-host"    // the host's leg on the fabric
	prefix   = "lk-"
)

// A node is known by its number, from 1.
type node int

func (n node) String() string  { return "node-" + strconv.Itoa(int(n)) } // in Kubernetes, and its port on the fabric
func (n node) unit() string    { return prefix + n.String() }            // namespace and cgroup
func (n node) address() string { return fmt.Sprintf("198.18.255.%d", int(n)) }
func (n node) pods() string    { return fmt.Sprintf("198.18.%d.0/24", int(n)) }

func nodesUpTo(count int) []node {
	nodes := make([]node, count)
	for i := range nodes {
		nodes[i] = node(i + 1)
	}
	return nodes
}

// layout says where things lie in the state directory.
type layout struct {
	state string
}

func (l layout) marker() string          { return filepath.Join(l.state, "cluster.json") }
func (l layout) kubeconfig() string      { return filepath.Join(l.state, "admin.kubeconfig") }
func (l layout) pki(file string) string  { return filepath.Join(l.state, "pki", file) }
func (l layout) log(name string) string  { return filepath.Join(l.state, "logs", name+".log") }
func (l layout) images() string          { return filepath.Join(l.state, "images") }
func (l layout) control(f string) string { return filepath.Join(l.state, "control", f) }

// node gives a path in the node's own directory.
func (l layout) node(n node, file string) string { return filepath.Join(l.state, n.String(), file) }

// socket is containerd's. Unix sockets have at most 107 bytes of path, which
// bounds the state directory's own.
func (l layout) socket(n node) string { return l.node(n, "containerd.sock") }

const maxStatePath = 80

// Package cluster runs a real Kubernetes on one machine: a control plane and
// up to MaxNodes nodes. Each has its own network namespace. A bridge connects
// them, and nothing outside the machine is reachable from it.
//
// The names of network namespaces, links and cgroups have the prefix lk-. All
// files are in the state directory. The package finds its processes by their
// cgroup, never by a name or a stored process ID.
package cluster

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// MaxNodes is the largest number of nodes that the address plan allows.
const MaxNodes = 9

// The address plan. 198.18.0.0/15 is reserved for benchmarks (RFC 2544), so no
// real network uses or routes it.
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
	hostLink = "lk-host"    // this machine's link to the bridge
	prefix   = "lk-"
)

// A node is identified by its number, starting at 1.
type node int

func (n node) String() string  { return "node-" + strconv.Itoa(int(n)) } // name in Kubernetes, and of its port on the bridge
func (n node) unit() string    { return prefix + n.String() }            // network namespace and cgroup
func (n node) address() string { return fmt.Sprintf("198.18.255.%d", int(n)) }
func (n node) pods() string    { return fmt.Sprintf("198.18.%d.0/24", int(n)) }

func nodesUpTo(count int) []node {
	nodes := make([]node, count)
	for i := range nodes {
		nodes[i] = node(i + 1)
	}
	return nodes
}

// layout has the paths in the state directory.
type layout struct {
	state string
}

func (l layout) marker() string          { return filepath.Join(l.state, "cluster.json") }
func (l layout) kubeconfig() string      { return filepath.Join(l.state, "admin.kubeconfig") }
func (l layout) pki(file string) string  { return filepath.Join(l.state, "pki", file) }
func (l layout) log(name string) string  { return filepath.Join(l.state, "logs", name+".log") }
func (l layout) images() string          { return filepath.Join(l.state, "images") }
func (l layout) control(f string) string { return filepath.Join(l.state, "control", f) }

// node returns a path in the node's own directory.
func (l layout) node(n node, file string) string { return filepath.Join(l.state, n.String(), file) }

// socket is the path of containerd's socket. The path of a unix socket has at most
// 107 bytes, which limits the length of the state directory's path.
func (l layout) socket(n node) string { return l.node(n, "containerd.sock") }

const maxStatePath = 80

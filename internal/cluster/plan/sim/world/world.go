// Package world is what a simulation holds: one EtcdCluster, the Pods, volumes and Services that Kubernetes would hold for it, the etcd
// clusters that would run in them, and the invariants that were broken. It looks things up, and does nothing by itself.
package world

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

const (
	namespace = "ns"
	name      = "example"
)

// Epoch is when the clock of every world begins.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// World is Kubernetes and etcd around one EtcdCluster.
type World struct {
	// Cluster as the API server holds it.
	Cluster       v1beta2.EtcdCluster
	Services      state.Services
	Budget        state.Budget
	NetworkPolicy state.NetworkPolicy
	// BudgetSize is the size that was asked for when the budget was made.
	BudgetSize int
	// BudgetKeeps: the budget counts Pods that are not ready.
	BudgetKeeps bool
	Restores    []Restore

	// NoStorageClass, SecretProblem and BadImage are what users and administrators can get wrong.
	NoStorageClass bool
	SecretProblem  string
	BadImage       string
	// Rejecting: kubelets reject every Pod that is made for a node, for want of room.
	Rejecting bool
	// Template and Labels count what users asked for in their Pods; with BadTemplate none starts.
	Template, Labels, BadTemplate int
	// Resources counts what users asked for in CPU and memory. Nodes is what Kubernetes makes of a change of them.
	Resources int
	Nodes     ResizeFate
	// Resizing: changes of CPU and memory are among other faults.
	Resizing bool
	// StatusLost: the operator forgot what it had recorded. Stale: it acts on what was true some time ago.
	StatusLost, Stale bool
	// Present is the world as it is, in a world that is seen through a cache. UIDs counts Pods and volumes.
	Present *World
	UIDs    int

	// Gentle: faults leave every quorum its data, so that the world can always be put right.
	Gentle bool

	// AuthOn: etcd's authentication is on, and the operator has no user. CutOff: a NetworkPolicy keeps it from the members.
	// NoNode: no node takes a new Pod.
	AuthOn, CutOff, NoNode bool
	// Estranged: these and lost volumes are among other faults.
	Estranged bool

	// Volatile: volumes are lost, created again from older copies, and emptied under containers that restart in their Pods, among
	// other faults.
	Volatile bool

	// EtcdRefuses: etcd refuses each change of the membership for now. Denied is the kind of objects that an admission policy denies.
	EtcdRefuses bool
	Denied      string
	// Stepwise: an election and each other effect happens when the exploration says so.
	Stepwise bool
	// Refusing: these are among other faults.
	Refusing bool

	// Moving: the data of members with emptyDir is moved onto volumes among other faults.
	Moving bool

	// Handmade: memberships are changed by hand, and the status is lost or old, among other faults. Backup is an old status.
	Handmade bool
	Backup   *v1beta2.EtcdClusterStatus

	// Crowded: space quotas are used up among other faults.
	Crowded bool

	// Clocks: the clock of the operator is set among other faults. Wrong is by how much it is, and SeenClocks what the operator has seen.
	Clocks     bool
	Wrong      time.Duration
	SeenClocks *clock.Seen

	// TLS has the CAs of a cluster with TLS; nil without.
	TLS *cas.Authorities
	// PlainProbes: the readiness probes ask for metrics, as those of etcd 3.4 do.
	PlainProbes bool

	// Waiting is what the operator remembers of what it waits for.
	Waiting state.Waiting

	Pods         []Pod
	Volumes      []Volume
	Incarnations []Life
	// Copies are what persons saved of volumes, by name.
	Copies map[string]Data
	// FencedAt is what etcd answered to a fence in this pass; 0 for none.
	FencedAt int64
	// BehindCache: a step is checked that was planned on an old cache.
	BehindCache bool
	// Outside is the data of foreign members, by name.
	Outside map[string]*Data

	// Now counts seconds; NextID numbers what etcd numbers.
	Now    int
	NextID uint64
	// Choose picks one of n; 0 where nothing is left to chance.
	Choose func(n int) int

	// Violations are the invariants that were broken, in words.
	Violations []string
}

// New is a world in which an EtcdCluster of size has just been made.
func New(size int, durable bool) *World {
	w := &World{NextID: 100, SeenClocks: &clock.Seen{}}
	w.Cluster = v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-example", Generation: 1},
		Spec:       v1beta2.EtcdClusterSpec{Size: size, Version: Version},
		Status:     v1beta2.EtcdClusterStatus{ObservedGeneration: -1},
	}
	if !durable {
		w.Cluster.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	return w
}

// Pick returns a number below n: a random one in a world with chance, and 0 in others.
func (w *World) Pick(n int) int {
	if w.Choose == nil || n <= 1 {
		return 0
	}
	return w.Choose(n)
}

// Chance lets chance into the world: what is under way takes its time, and writes reach some members later.
func (w *World) Chance(r *rand.Rand) { w.Choose = r.IntN }

// Violate records that an invariant was broken.
func (w *World) Violate(invariant Invariant, format string, a ...any) {
	w.Violations = append(w.Violations, fmt.Sprintf("%s: ", invariant)+fmt.Sprintf(format, a...))
}

// Secure gives a world TLS, before its cluster forms. If managed, the operator has the CA. Otherwise a user writes the Secrets.
func (w *World) Secure(managed bool) {
	w.TLS = &cas.Authorities{}
	if managed {
		w.Cluster.Spec.TLS = &v1beta2.TLSPolicy{Managed: &v1beta2.ManagedTLS{CAOverlap: &metav1.Duration{Duration: Overlap}}}
		w.TLS.Missing = true
		return
	}
	w.Cluster.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{
		Member:         &v1beta2.MemberSecret{PeerSecret: "peer", ServerSecret: "server"},
		OperatorSecret: "client",
	}}
	ca := w.TLS.NewCA()
	w.TLS.Held = cas.Secrets{Peer: cas.Keys{Trusted: cas.SetOf(ca), Signer: ca}, Client: cas.Keys{Trusted: cas.SetOf(ca), Signer: ca}}
}

// Overlap is how long the CAs of TLS.managed overlap in these worlds.
const Overlap = 2 * time.Minute

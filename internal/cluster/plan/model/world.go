package model

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// World is Kubernetes and etcd around one EtcdCluster.
type World struct {
	// Cluster as the API server holds it.
	Cluster       v1beta2.EtcdCluster
	Services      state.Services
	Budget        state.Budget
	NetworkPolicy state.NetworkPolicy
	// budgetSize is the size that was asked for when the budget was made.
	budgetSize int
	// budgetKeeps: the budget counts Pods that are not ready.
	budgetKeeps bool
	Restores    []Restore

	// NoStorageClass, SecretProblem and BadImage are what users and administrators can get wrong.
	NoStorageClass bool
	SecretProblem  string
	BadImage       string
	// Rejecting: kubelets reject every Pod that is made for a node, for want of room.
	Rejecting bool
	// template and labels count what users asked for in their Pods; with badTemplate none starts.
	template, labels, badTemplate int
	// resources counts what users asked for in CPU and memory. Nodes is what Kubernetes makes of a change of them.
	resources int
	Nodes     ResizeFate
	// Resizing: changes of CPU and memory are among other faults.
	Resizing bool
	// statusLost: the operator forgot what it had recorded. stale: it acts on what was true some time ago.
	statusLost, stale bool
	// present is the world as it is, in a world that is seen through a cache. uids counts Pods and volumes.
	present *World
	uids    int

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

	// Handmade: memberships are changed by hand, and the status is lost or old, among other faults. backup is an old status.
	Handmade bool
	backup   *v1beta2.EtcdClusterStatus

	// Crowded: space quotas are used up among other faults.
	Crowded bool

	// Clocks: the clock of the operator is set among other faults. wrong is by how much it is, and clocks what the operator has seen.
	Clocks bool
	wrong  time.Duration
	clocks *clock.Seen

	// TLS has the CAs of a cluster with TLS; nil without.
	TLS *authorities
	// PlainProbes: the readiness probes ask for metrics, as those of etcd 3.4 do.
	PlainProbes bool

	// waiting is what the operator remembers of what it waits for.
	waiting state.Waiting

	pods         []pod
	volumes      []volume
	incarnations []life
	// copies are what persons saved of volumes, by name.
	copies map[string]data
	// fencedAt is what etcd answered to a fence in this pass; 0 for none.
	fencedAt int64
	// behindCache: a step is checked that was planned on an old cache.
	behindCache bool
	// outside is the data of foreign members, by name.
	outside map[string]*data

	// now counts seconds; nextID numbers what etcd numbers.
	now    int
	nextID uint64
	// choose picks one of n; 0 where nothing is left to chance.
	choose func(n int) int

	// Violations are the invariants that were broken, in words.
	Violations []string
}

// Restore is an EtcdRestore of the cluster.
type Restore struct {
	UID      types.UID
	Verified bool
	Deleted  bool
	// Complete and Failed are what restore-operator copied from the cluster's status.
	Complete, Failed bool
	Revision         int64
	// Seed is how its seed will fare.
	Seed Fate
	// Exact: it asks for an exact safety snapshot. Saver is how that will fare. SavedUpTo is its revision, 0 if it was not taken, and SavedFor the
	// time that the operator asked for.
	Exact     bool
	Saver     Saver
	SavedUpTo int64
	SavedFor  time.Time
}

// revisionBump of every EtcdRestore: more than a world writes.
const revisionBump = 1_000_000

// Fate of a seed.
type Fate int

// Fates. FateRetry fails until the world is repaired; FateTooOld restores fewer revisions than were proven.
const (
	FateGood Fate = iota
	FateRetry
	FateNever
	FateTooOld
)

// data is a data directory that etcd has written.
type data struct {
	cluster, member etcd.ID
	// index of the last write in it; snapshot is up to where a raft snapshot on disk covers them.
	index, snapshot int
	// storage is the minor version that it is of.
	storage int
	// corrupt: etcd ends when it reads it.
	corrupt bool
	// tainted: it is not what the others have.
	tainted bool
	// copied: a person put an older copy there.
	copied bool
	// file is the size of the database in MiB, used how much of it is in use, and keys what is left when history is
	// forgotten.
	file, used, keys int
	// told is what the member says is in use, which may be what was before a compaction.
	told int
}

type volume struct {
	name        string
	uid         int
	incarnation int32
	initialSize int
	deleting    bool
	// aside: it was set aside. since is when.
	aside bool
	since int
	// kept: it outlives the EtcdCluster. size is in bytes.
	kept bool
	size int64
	// lost: its PersistentVolume does not exist any more. away is what it had, in case that it comes back.
	lost bool
	away *data
	// created is when. outlived: a recovery continued without its data. recovered: its mark says so.
	created             int
	outlived, recovered bool
	recoveredAt         time.Time
	// full: nothing can be written to it until it grows.
	full bool
	// unused: it was made for a member that has not been added.
	unused bool
	data   *data
}

type pod struct {
	name          string
	uid           int
	created       int
	incarnation   int32
	initialSize   int
	start         state.Start
	version       string
	state         state.PodState
	reason, wrong string
	exposed       bool
	// template and labels that it was made for. stale: made from what was true some time ago.
	template, labels int
	stale            bool
	// guarded: it starts only with data, whatever start says.
	guarded bool
	// waits: it starts etcd only after it is released. addressSince is since when it has an address; 0 without one.
	waits        bool
	addressSince int
	// resources that it has, and how far a change of them is.
	resources int
	resize    resizing
	// quota of its etcd in MiB.
	quota int
	// peers are the names in its --initial-cluster.
	peers []string
	// restore is the UID whose snapshot its init container restores.
	restore types.UID
	// bump is what it adds to the revision.
	bump     int64
	failures int32
	hopeless bool
	// unschedulable: no host takes it. stuck: its host does not confirm that it stopped.
	unschedulable, stuck bool
	// ended: it is being deleted, and its kubelet has confirmed that nothing of it runs any more.
	ended bool
	// zone that it runs in, counted from 0.
	zone int
	// placed: it has a host, and its volume is mounted there.
	placed bool
	// broken: its etcd ends as soon as it starts. hung: it runs and answers nobody.
	broken, hung bool
	// deaf: it answers its peers and clients, and not the operator. cutOff: its node is cut off from Kubernetes, and it serves on.
	deaf, cutOff bool
	// mute: its etcd was started without a quorum, so it serves its metrics only.
	mute                 bool
	ready                bool
	unreadySince, goneBy int
	// expectedSince: since then it could have served, because its member votes and a quorum serves.
	expectedSince int
	// probesAlarm: an earlier operator made it, and it is not ready while an alarm or a fence is on.
	probesAlarm bool
	// tls is what it has in a cluster with TLS; nil without.
	tls *endpoint
	// inPod: it keeps its data in an emptyDir. scratch is that data.
	inPod   bool
	scratch *data
}

const (
	namespace = "ns"
	name      = "example"
	version   = "3.6.16"
)

// epoch is when the clock of every world begins.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// New is a world in which an EtcdCluster of size has just been made.
func New(size int, durable bool) *World {
	w := &World{nextID: 100, clocks: &clock.Seen{}}
	w.Cluster = v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-example", Generation: 1},
		Spec:       v1beta2.EtcdClusterSpec{Size: size, Version: version},
		Status:     v1beta2.EtcdClusterStatus{ObservedGeneration: -1},
	}
	if !durable {
		w.Cluster.Spec.Pod = &v1beta2.PodPolicy{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	}
	return w
}

func (w *World) durable() bool {
	return w.Cluster.Spec.Pod == nil || w.Cluster.Spec.Pod.EmptyDir == nil
}

func (w *World) pick(n int) int {
	if w.choose == nil || n <= 1 {
		return 0
	}
	return w.choose(n)
}

func (w *World) violate(invariant Invariant, format string, a ...any) {
	w.Violations = append(w.Violations, fmt.Sprintf("%s: ", invariant)+fmt.Sprintf(format, a...))
}

func (w *World) pod(name string) *pod {
	for i := range w.pods {
		if w.pods[i].name == name {
			return &w.pods[i]
		}
	}
	return nil
}

func (w *World) volume(name string) *volume {
	for i := range w.volumes {
		if w.volumes[i].name == name {
			return &w.volumes[i]
		}
	}
	return nil
}

// dataOf a member, on its volume or in its Pod; nil when there is none.
func (w *World) dataOf(name string) *data {
	if d := w.outside[name]; d != nil {
		return d
	}
	if p := w.pod(name); p != nil && p.inPod {
		return p.scratch
	}
	if v := w.volume(name); v != nil {
		return v.data
	}
	return nil
}

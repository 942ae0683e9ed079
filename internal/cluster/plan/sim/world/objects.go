package world

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Volume is the PersistentVolumeClaim of a member, and what is on it.
type Volume struct {
	Name        string
	UID         int
	Incarnation int32
	InitialSize int
	Deleting    bool
	// Aside: it was set aside. Since is when.
	Aside bool
	Since int
	// Kept: it outlives the EtcdCluster. Size is in bytes.
	Kept bool
	Size int64
	// Lost: its PersistentVolume does not exist any more. Away is what it had, in case that it comes back.
	Lost bool
	Away *Data
	// Created is when. Outlived: a recovery continued without its data. Recovered: its mark says so.
	Created             int
	Outlived, Recovered bool
	RecoveredAt         time.Time
	// Full: nothing can be written to it until it grows.
	Full bool
	// Unused: it was made for a member that has not been added.
	Unused bool
	Data   *Data
}

// VolumeID returns the identity of a volume, as the operator reads it.
func VolumeID(v *Volume) state.VolumeID {
	return state.VolumeID{Claim: types.UID(fmt.Sprintf("claim-%d", v.UID)), Volume: fmt.Sprintf("pv-%d", v.UID)}
}

// Data is a data directory that etcd has written.
type Data struct {
	Cluster, Member etcd.ID
	// Index of the last write in it; Snapshot is up to where a raft snapshot on disk covers them.
	Index, Snapshot int
	// Storage is the minor version that it is of.
	Storage int
	// Corrupt: etcd ends when it reads it.
	Corrupt bool
	// Tainted: it is not what the others have.
	Tainted bool
	// Copied: a person put an older copy there.
	Copied bool
	// File is the size of the database in MiB, Used how much of it is in use, and Keys what is left when history is
	// forgotten.
	File, Used, Keys int
	// Told is what the member says is in use, which may be what was before a compaction.
	Told int
}

// Pod is the Pod of a member, and the etcd in it.
type Pod struct {
	Name          string
	UID           int
	Created       int
	Incarnation   int32
	InitialSize   int
	Start         state.Start
	Version       string
	State         state.PodState
	Reason, Wrong string
	Exposed       bool
	// Template and Labels that it was made for. Stale: made from what was true some time ago.
	Template, Labels int
	Stale            bool
	// Guarded: it starts only with data, whatever Start says.
	Guarded bool
	// Waits: it starts etcd only after it is released. AddressSince is since when it has an address; 0 without one.
	Waits bool
	// Promoting: it says to the standby in it that it is to become the cluster.
	Promoting    bool
	AddressSince int
	// Resources that it has, and how far a change of them is.
	Resources int
	Resize    Resizing
	// Quota of its etcd in MiB.
	Quota int
	// Peers are the names in its --initial-cluster.
	Peers []string
	// Restore is the UID whose snapshot its init container restores.
	Restore types.UID
	// Bump is what it adds to the revision.
	Bump     int64
	Failures int32
	Hopeless bool
	// Unschedulable: no host takes it. Stuck: its host does not confirm that it stopped.
	Unschedulable, Stuck bool
	// Ended: it is being deleted, and its kubelet has confirmed that nothing of it runs any more.
	Ended bool
	// Zone that it runs in, counted from 0.
	Zone int
	// Placed: it has a host, and its volume is mounted there.
	Placed bool
	// Broken: its etcd ends as soon as it starts. Hung: it runs and answers nobody.
	Broken, Hung bool
	// Deaf: it answers its peers and clients, and not the operator. CutOff: its node is cut off from Kubernetes, and it serves on.
	Deaf, CutOff bool
	// Mute: its etcd was started without a quorum, so it serves its metrics only.
	Mute                 bool
	Ready                bool
	UnreadySince, GoneBy int
	// ExpectedSince: since then it could have served, because its member votes and a quorum serves.
	ExpectedSince int
	// ProbesAlarm: an earlier operator made it, and it is not ready while an alarm or a fence is on.
	ProbesAlarm bool
	// TLS is what it has in a cluster with TLS; nil without.
	TLS *cas.Endpoint
	// InPod: it keeps its data in an emptyDir. Scratch is that data.
	InPod   bool
	Scratch *Data
}

// SetTLS changes what a Pod with TLS has.
func (p *Pod) SetTLS(change func(*cas.Endpoint)) {
	c := *p.TLS
	change(&c)
	p.TLS = &c
}

// FailingSince is since when a member has failed although it could serve.
func (p *Pod) FailingSince() int { return max(p.UnreadySince, p.ExpectedSince) }

// Accepted reports whether the API server has accepted what the node has yet to carry out.
func (p *Pod) Accepted() bool {
	return p.Resize.Asked != 0 && p.Resize.Asked != p.Resources && !p.Resize.Refused && !p.Resize.Forbidden
}

// MayStartEmpty says whether a container of a Pod makes data if it finds none.
func MayStartEmpty(p *Pod) bool {
	makes := p.Start == state.StartNew || p.Start == state.StartJoin || p.Start == state.StartSeed
	return makes && !p.Guarded && !p.Waits
}

// WithoutData is why a member that has started does not start on an empty volume.
const WithoutData = "it refuses to start without its data"

// ResizeFate is what Kubernetes makes of a change of CPU and memory in a running Pod.
type ResizeFate int

// The fates.
const (
	// ResizeCarriedOut: the node changes what the Pod has.
	ResizeCarriedOut ResizeFate = iota
	// ResizeDeferred: the node waits for room.
	ResizeDeferred
	// ResizeInfeasible: the node never can.
	ResizeInfeasible
	// ResizeLost: the kubelet reports nothing.
	ResizeLost
	// ResizeRefused: the API server never accepts it. ResizeForbidden: not now.
	ResizeRefused
	ResizeForbidden
	ResizeFates
)

// Resizing is the note on a Pod, and what the node reports.
type Resizing struct {
	// Asked is what was asked for, and 0 if nothing was. At is when.
	Asked, At                      int
	Refused, Forbidden, Infeasible bool
}

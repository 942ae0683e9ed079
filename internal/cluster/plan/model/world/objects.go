package world

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/model/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

type Volume struct {
	Name        string
	UID         int
	Incarnation int32
	InitialSize int
	Deleting    bool
	// aside: it was set aside. since is when.
	Aside bool
	Since int
	// kept: it outlives the EtcdCluster. size is in bytes.
	Kept bool
	Size int64
	// lost: its PersistentVolume does not exist any more. away is what it had, in case that it comes back.
	Lost bool
	Away *Data
	// created is when. outlived: a recovery continued without its data. recovered: its mark says so.
	Created             int
	Outlived, Recovered bool
	RecoveredAt         time.Time
	// full: nothing can be written to it until it grows.
	Full bool
	// unused: it was made for a member that has not been added.
	Unused bool
	Data   *Data
}

func VolumeID(v *Volume) state.VolumeID {
	return state.VolumeID{Claim: types.UID(fmt.Sprintf("claim-%d", v.UID)), Volume: fmt.Sprintf("pv-%d", v.UID)}
}

// Data is a data directory that etcd has written.
type Data struct {
	Cluster, Member etcd.ID
	// index of the last write in it; snapshot is up to where a raft snapshot on disk covers them.
	Index, Snapshot int
	// storage is the minor version that it is of.
	Storage int
	// corrupt: etcd ends when it reads it.
	Corrupt bool
	// tainted: it is not what the others have.
	Tainted bool
	// copied: a person put an older copy there.
	Copied bool
	// file is the size of the database in MiB, used how much of it is in use, and keys what is left when history is
	// forgotten.
	File, Used, Keys int
	// told is what the member says is in use, which may be what was before a compaction.
	Told int
}

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
	// template and labels that it was made for. stale: made from what was true some time ago.
	Template, Labels int
	Stale            bool
	// guarded: it starts only with data, whatever start says.
	Guarded bool
	// waits: it starts etcd only after it is released. addressSince is since when it has an address; 0 without one.
	Waits        bool
	AddressSince int
	// resources that it has, and how far a change of them is.
	Resources int
	Resize    Resizing
	// quota of its etcd in MiB.
	Quota int
	// peers are the names in its --initial-cluster.
	Peers []string
	// restore is the UID whose snapshot its init container restores.
	Restore types.UID
	// bump is what it adds to the revision.
	Bump     int64
	Failures int32
	Hopeless bool
	// unschedulable: no host takes it. stuck: its host does not confirm that it stopped.
	Unschedulable, Stuck bool
	// ended: it is being deleted, and its kubelet has confirmed that nothing of it runs any more.
	Ended bool
	// zone that it runs in, counted from 0.
	Zone int
	// placed: it has a host, and its volume is mounted there.
	Placed bool
	// broken: its etcd ends as soon as it starts. hung: it runs and answers nobody.
	Broken, Hung bool
	// deaf: it answers its peers and clients, and not the operator. cutOff: its node is cut off from Kubernetes, and it serves on.
	Deaf, CutOff bool
	// mute: its etcd was started without a quorum, so it serves its metrics only.
	Mute                 bool
	Ready                bool
	UnreadySince, GoneBy int
	// expectedSince: since then it could have served, because its member votes and a quorum serves.
	ExpectedSince int
	// probesAlarm: an earlier operator made it, and it is not ready while an alarm or a fence is on.
	ProbesAlarm bool
	// tls is what it has in a cluster with TLS; nil without.
	TLS *cas.Endpoint
	// inPod: it keeps its data in an emptyDir. scratch is that data.
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
	// asked is what was asked for, and 0 if nothing was. at is when.
	Asked, At                      int
	Refused, Forbidden, Infeasible bool
}

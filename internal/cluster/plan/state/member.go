package state

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// VolumeState is how a member's PersistentVolumeClaim stands.
type VolumeState string

// Volumes. A member with an emptyDir has none.
const (
	VolumeNone     VolumeState = ""
	VolumePresent  VolumeState = "Present"
	VolumeDeleting VolumeState = "Deleting"
	// VolumeLost is one whose PersistentVolume does not exist any more. Only a Pod that runs may still have its data.
	VolumeLost VolumeState = "Lost"
)

// PodState is how a member's Pod stands.
type PodState string

// Pods. Blocked is a Pod that cannot start, or keeps ending; PodReason says why. Ended is one that the kubelet gave
// up for good (evicted, say) and that must be made again.
const (
	PodNone     PodState = ""
	PodStarting PodState = "Starting"
	PodRunning  PodState = "Running"
	PodBlocked  PodState = "Blocked"
	PodEnded    PodState = "Ended"
	PodDeleting PodState = "Deleting"
)

// Member is one member: its Pod, its volume, its entry in the membership and what it says of itself.
type Member struct {
	Name        string
	Incarnation int32
	// InitialSize is the number of members that the cluster is bootstrapped with; 0 for members added later.
	InitialSize int

	Volume VolumeState
	// VolumeID is of its claim, which was created at VolumeCreated.
	VolumeID      VolumeID
	VolumeCreated time.Time
	// VolumeUnused: no etcd has run on the volume, because its member has not been added.
	VolumeUnused bool
	// WasSetAside: the volume was set aside, and somebody has removed the label that says so.
	WasSetAside bool
	// Recovered: a recovery from a lost quorum continued without the data of the volume, as a mark on the volume says.
	Recovered bool
	// RecoveredAt is when that recovery started; zero if the mark does not say so.
	RecoveredAt time.Time
	// VolumeKept: the volume outlives the EtcdCluster.
	VolumeKept bool
	// VolumeSize is what the volume was asked to hold, VolumeCapacity what it holds, both in bytes.
	VolumeSize, VolumeCapacity int64
	// VolumeFixed: its StorageClass does not let it grow. VolumeProblem is what keeps it from growing all the same.
	VolumeFixed   bool
	VolumeProblem string
	// VolumeRefused is why Kubernetes refused to let it grow to what the spec asks for; empty when it did not lately.
	VolumeRefused string
	// FileSystemPendingSince is since when a volume that has grown waits for a Pod to grow the file system on it; zero
	// when it does not.
	FileSystemPendingSince time.Time
	Pod                    PodState
	// StartupBudget is how long the Pod's etcd may take to start; zero unless it is still starting.
	StartupBudget time.Duration
	// PodCreated is when the Pod was made. EtcdSince is when its etcd started by the clock of its node; zero if it does not run.
	PodCreated, EtcdSince time.Time
	// DataInPod: the Pod keeps the member's data in an emptyDir. The spec may ask for a volume by now.
	DataInPod bool
	// PodReady is the Pod's Ready condition. Readiness gates of the Pod do not count.
	PodReady bool
	// ProbesAlarm: the Pod is not ready while a CORRUPT alarm or a fence is on, because an earlier operator wrote its readiness probe.
	ProbesAlarm bool
	// ReadyAlone: the Pod is ready also while its etcd has no quorum. The readiness probe of etcd 3.4 asks for no more than metrics.
	ReadyAlone bool
	// Gate is what the kubelet says of a readiness gate that is all that the Pod lacks to be ready, and GateSince since when.
	Gate      string
	GateSince time.Time
	// Beside names the containers beside etcd that are not ready, if etcd's own is ready, and BesideSince is since when the
	// Pod is not ready for them. UnreadySince then counts from when etcd itself did not serve.
	Beside      string
	BesideSince time.Time
	// UnreadySince is when that condition went false, or when the Pod was made if it was never true; zero while ready.
	UnreadySince time.Time
	// GoneBy is when a Pod that is being deleted was to be gone at the latest.
	GoneBy time.Time
	// Stopped: such a Pod's host has confirmed that nothing of it runs any more or will again; only the object is left.
	Stopped bool
	// Terminated: the kubelet has reported that all containers of a Pod have ended for good. A Pod that a node rejected has none, and
	// one whose node is gone may have been given its final phase by Kubernetes.
	Terminated bool
	// Held: Kubernetes does not wait for the kubelet any more. A finalizer of another party keeps the object. Finalizers are their names.
	Held       bool
	Finalizers string
	// Node that the Pod runs on, and Zone of that node; empty if not known.
	Node, Zone string
	// NodeSilent: the Pod's node does not answer Kubernetes, so nobody can see or stop what runs there.
	NodeSilent bool
	// Empty: etcd refuses to start, because the volume of the Pod has no data. Its node may have cleared the disk, or not have mounted it.
	Empty bool
	// NeedsMinor: etcd refuses to start, because the cluster has reached this minor version, which is above that of the Pod's image.
	NeedsMinor string
	// PodReason (one of the API's reasons) and PodMessage say why a Pod is blocked.
	PodReason, PodMessage string
	// Corrupt: etcd ends again and again, and says that its data is corrupt.
	Corrupt bool
	// MissingSecret is one that the Pod of a former seed mounts, and that does not exist any more.
	MissingSecret string
	// Start is how the Pod's etcd comes up.
	Start Start
	// MayStartEmpty: if a container of the Pod restarts on an empty volume, it makes data again, and the operator can forbid that.
	MayStartEmpty bool
	// Waits: the Pod starts etcd only after the operator has released it, and that has not happened yet.
	Waits bool
	// Ran: the container of etcd has run in this Pod. A Pod that ran and seems to wait has lost an annotation.
	Ran bool
	// AddressSince is since when the Pod has an address; zero without one.
	AddressSince time.Time
	// PublishedSince is since when the operator has seen the address of a Pod that waits in the headless Service; zero if it has not.
	PublishedSince time.Time
	// PodImage is the image that the operator asked for in the Pod's etcd container. Admission may have changed it.
	PodImage string
	// PodQuota is the space quota in bytes that the Pod sets for its etcd: negative for none, and 0 if the Pod takes it from
	// elsewhere. It is nil without a Pod.
	PodQuota *int64
	// SecurePeer and SecureClient say whether the Pod's etcd talks TLS to members and to clients.
	SecurePeer, SecureClient bool
	// ChecksPeers: the Pod's etcd accepts only peers whose certificate covers PeerHostname.
	ChecksPeers bool
	// ChecksClients: the Pod's etcd accepts only clients whose certificate covers ClientHostname.
	ChecksClients bool
	// Trust is the fingerprint of the authorities that it was started with, and Loaded that of the certificates that
	// its Pod was last marked with.
	Trust, Loaded string
	// ShowsNew: the certificates that it serves with are those in its Secrets. Looked at while an authority is replaced.
	ShowsNew bool
	// Outdated: the Pod was made for another spec.pod or spec.TLS, in a way that takes a new Pod.
	Outdated bool
	// Resize is how far the Pod is from the CPU and memory of the spec, if it is outdated in nothing else. ResizeMessage is
	// what Kubernetes reports of that.
	Resize        ResizeState
	ResizeMessage string
	// Relabel: the Pod's labels, its annotations or the note of what it was made for are not as they should be.
	Relabel bool
	// WithoutUID: the Pod has no label with the EtcdCluster's UID, as those of an earlier release.
	WithoutUID bool
	// Unlabelled and VolumeUnlabelled: the Pod, or the volume, lost labels, annotations or its owner.
	Unlabelled, VolumeUnlabelled bool
	// Peers are the names in its --initial-cluster, sorted, with commas between.
	Peers string
	// Exposed: the Pod carries the label that the client Service selects.
	InService bool
	// Seed is how the seed's init container stands, nil for other members.
	Seed *Seed

	// Knows is the membership that the member has applied, if it answers and has no leader. No quorum confirms it.
	Knows []etcd.Member
	// InMembership: etcd knows the member. Only meaningful when State.MembershipKnown.
	InMembership bool
	ID           etcd.ID
	Learner      bool
	// Started: the member has published its client URLs. Before that it may have no data.
	Started bool

	// Answers: the member answered for itself. Serving: it served a linearizable read.
	Answers, Serving bool
	ClusterID        etcd.ID
	Leader           bool
	Version          string
	DBSize, Revision int64
	// DBSizeInUse of its database file's bytes. DBQuota is what that may grow to; 0 where the member does not say.
	DBSizeInUse, DBQuota int64
	// RaftIndex is that of the last entry that the member knows to be committed, in RaftTerm.
	RaftIndex, RaftTerm uint64
	// Alarms that are on, as far as the member knows.
	Alarms []etcd.Alarm
	// Hash of its data at a revision that all voters have, in words that are the same for the same data. Looked at
	// while a CORRUPT alarm is on; empty where it is not known.
	Hash string
	// StorageVersion is the version that the member's data is of; empty before etcd 3.6. Downgrade is the version that
	// etcd is being brought down to; empty when it is not.
	StorageVersion, Downgrade string
	// AppliedIndex is how far the member has applied the raft log.
	AppliedIndex int64
	// Guarded: a quorum stands behind it, and it tells the operator nothing for lack of permission.
	Guarded bool
	// Refusal is why etcd's authentication refuses the operator, whatever else the member tells.
	Refusal etcd.Refusal
	// SilentSince is since when the member has not served, as far as this process has seen; zero while it does.
	SilentSince time.Time
	// FailingSince is since when the member has failed to do what Expected says, as far as this process has seen. It is zero while it does not fail.
	FailingSince time.Time
	// Unanswered says why the member did not answer.
	Unanswered string
}

// WithoutPod returns what etcd answers and what the volume shows, without what the Pod shows.
func (m Member) WithoutPod() Member {
	return Member{
		Name: m.Name, Incarnation: m.Incarnation, InitialSize: m.InitialSize,
		Volume: m.Volume, VolumeID: m.VolumeID, VolumeCreated: m.VolumeCreated, VolumeUnused: m.VolumeUnused, WasSetAside: m.WasSetAside, Recovered: m.Recovered, RecoveredAt: m.RecoveredAt,
		VolumeKept: m.VolumeKept, VolumeSize: m.VolumeSize, VolumeCapacity: m.VolumeCapacity, VolumeFixed: m.VolumeFixed, VolumeProblem: m.VolumeProblem,
		VolumeRefused: m.VolumeRefused, FileSystemPendingSince: m.FileSystemPendingSince, VolumeUnlabelled: m.VolumeUnlabelled,
		Knows: m.Knows, InMembership: m.InMembership, ID: m.ID, Learner: m.Learner, Started: m.Started,
		Answers: m.Answers, Serving: m.Serving, ClusterID: m.ClusterID, Leader: m.Leader, Version: m.Version, DBSize: m.DBSize, Revision: m.Revision,
		DBSizeInUse: m.DBSizeInUse, DBQuota: m.DBQuota, RaftIndex: m.RaftIndex, RaftTerm: m.RaftTerm, Alarms: m.Alarms, Hash: m.Hash,
		StorageVersion: m.StorageVersion, Downgrade: m.Downgrade, AppliedIndex: m.AppliedIndex, Guarded: m.Guarded, Refusal: m.Refusal,
		SilentSince: m.SilentSince, FailingSince: m.FailingSince, Unanswered: m.Unanswered,
	}
}

// Seed is how a seed's init container stands.
type Seed struct {
	// Failures counts ended runs that did not succeed.
	Failures int32
	// Hopeless: the last run said that trying again cannot help.
	Hopeless bool
	// Message is what the last run said.
	Message string
	// Percent that the run under way says it has done.
	Percent int32
	// Following is how far the run under way says that a standby is; nil if it does not say so. UpdateTime, Promote and Promoted are not set.
	Following *v1beta2.FollowStatus
	// Promoting: the Pod says to the standby that it is to become the cluster.
	Promoting bool
	// Promoted is what a standby had at its promotion; nil before.
	Promoted *v1beta2.PromotedStatus
	// DoneAt is when the data was complete; zero before.
	DoneAt time.Time
}

// ResizeNone means that the kubelet has no resize to do.
const ResizeNone ResizeState = ""

// Start is how a member's etcd comes up.
type Start string

// Starts. Every one but Rejoin makes data; Rejoin refuses to run without it, so that a member that has voted
// never votes again with an empty data directory.
const (
	// StartNew forms a new cluster together with the other initial members.
	StartNew Start = "New"
	// StartJoin joins a formed cluster that has just added the member.
	StartJoin Start = "Join"
	// StartRejoin continues with the data on the volume.
	StartRejoin Start = "Rejoin"
	// StartSeed continues with the data that an init container restores from a snapshot.
	StartSeed Start = "Seed"
	// StartForce continues with the data on the volume as a cluster of one, without all other members
	// (--force-new-cluster). No Service selects such a member, and the operator restarts it without the flag.
	StartForce Start = "Force"
)

// KnowsItself reports whether a member answered with a membership that it is in. One that was removed has another one.
func (m Member) KnowsItself() bool {
	return m.Answers && slices.ContainsFunc(m.Knows, func(entry etcd.Member) bool { return entry.ID == m.ID })
}

// SaidLearner reports whether a member answers that it has no vote.
func (m Member) SaidLearner() bool { return m.Answers && m.Learner }

// RecreateGrace is how long a member may not serve before it is restarted with the current spec.
const RecreateGrace = time.Minute

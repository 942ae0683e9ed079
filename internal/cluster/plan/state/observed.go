package state

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Asked is what annotations on the EtcdCluster ask for, by names of members. They stand on the EtcdCluster and not on a
// Pod, because they outlive Pods, and because who may write the spec need not be who may write Pods. They ask for a state,
// so they may stay: a name that no member has is ignored, and no new member gets it.
type Asked struct {
	// RemoveForeign are names or IDs of foreign members that may be removed.
	RemoveForeign []string
	// StoppedForeign are IDs of foreign members that have stopped, as a person says.
	StoppedForeign []string
	// Replace are members that another one replaces. MoveLeader are those that should not lead. Fence are those that the
	// client Service does not select, and that are not replaced.
	Replace, MoveLeader, Fence []string
	// AcceptVolumes are UIDs of PersistentVolumeClaims that members may start on, although they served on other ones before.
	AcceptVolumes []string
}

// With etcd's authentication on, the operator needs a user with the role root: the one in the Secret of spec.auth, or the
// common name of its certificate. A member that refuses it serves clients nevertheless.

// Authentication is who the operator is to etcd, without any password.
type Authentication struct {
	// User in the Secret of spec.auth; empty without one.
	User string
	// Problem says what is wrong with that Secret. It is empty if all is well.
	Problem string
}

// Replacements are those of members that were lost, in all EtcdClusters of this operator. If a node or a zone is lost, all their
// members are due at the same time. The node may come back, and new members copy whole databases.
type Replacements struct {
	// Held: too many run or have begun, so this EtcdCluster waits.
	Held bool
	// Running is how many EtcdClusters replace a lost member, Limit the maximum, and PerMinute how many may begin in a minute.
	Running, Limit, PerMinute int
}

// Whose data is on a member's volume, and would its next Pod have it? Every rule that stops or starts a Pod, counts a voter, or deletes or
// sets aside a volume asks dataOf, and so do the PodDisruptionBudget and the status.
//
//	its claim                              its Pod runs on it    it has no Pod
//	the one that it served on              OnVolume              OnVolume
//	being deleted, lost or gone            InPodOnly             NoData
//	another one of the same name           InPodOnly             NoData
//	none, because the data is in the Pod   InPodOnly             NoData

// Data is where the data of a member is.
type Data string

// VolumeID tells the volume of a member from another one that a person created under the same name.
type VolumeID struct {
	// Claim is the UID of the PersistentVolumeClaim, and Volume the name of the PersistentVolume that it is bound to.
	Claim  types.UID
	Volume string
}

// Budget says how the PodDisruptionBudget stands, which lets a drain take as many members as quorum tolerates.
type Budget struct {
	// Exists: the cluster has one. Current: but for the number it is as it should be for Incarnation.
	Exists, Current bool
	Incarnation     int32
	// MinAvailable is how many members a drain has to leave.
	MinAvailable int
	// Other names one that somebody else made for the same Pods. Kubernetes evicts no Pod that has two.
	Other string
}

// ForeignObject has a name that the cluster needs, and does not belong to it.
type ForeignObject struct {
	Kind, Name string
	// Leaving: Kubernetes is about to delete it.
	Leaving bool
}

// ForeignMember is a member of the current incarnation that the operator did not add.
type ForeignMember struct {
	ID etcd.ID
	// Name is its own word, and empty before it starts.
	Name     string
	PeerURLs []string
	Learner  bool
	// Started: etcd has published its addresses for clients, as each member has it do that starts. What the status keeps does not say it.
	Started bool
	// Since is when the operator first saw it.
	Since time.Time
}

// Held is a step that the operator has carried out several times, and that something else reverses each time: an
// admission webhook, for example. The plan does not return the step before Until. Times is 0 for a step that was refused
// in this pass.
type Held struct {
	// Step as repeatKey words it.
	Step  string
	Times int
	Until time.Time
	// Refused is why the API server refused to delete the object of the stopped Pod. Both are empty for any other step.
	Refused, Pod string
}

// MetadataDue is an object that does not have what spec.metadata asks for. Pods are not among these: see RelabelPod.
type MetadataDue struct{ Kind, Name string }

// NetworkPolicy says how the NetworkPolicy stands that spec.networkPolicy asks for.
type NetworkPolicy struct {
	// Unmanaged: the operator was started without the peers that each NetworkPolicy needs, so it neither reads nor writes one.
	Unmanaged bool
	// Exists: the cluster has one. Current: apart from OpenPeers, it is as it should be.
	Exists, Current bool
	// Leaving: it is being deleted, and a finalizer keeps it. Nothing that the operator writes changes that.
	Leaving bool
	// OpenPeers: it lets everyone connect to the peer port.
	OpenPeers bool
}

// Obstruction is a step that was refused in this pass, and the wait that reports it. A step describes itself by a State, so a State
// names no type of a step.
type Obstruction struct{ Step, Wait any }

// preparation is what a State asks for before members may be brought to the spec's version.
type preparation struct {
	// to is the minor version that they are to run, via the one that the data is brought down to.
	To, Via string
}

// ResizeState is how far a member's running Pod is from the CPU and memory that the spec asks for.
type ResizeState string

// SetAside is such a volume.
type SetAside struct {
	Name string
	// Since is when it was set aside.
	Since    time.Time
	Deleting bool
	// Kept: it outlives the EtcdCluster.
	Kept bool
}

// RestoreRequest is a verified EtcdRestore.
type RestoreRequest struct {
	Name   string
	UID    types.UID
	Source v1beta2.RestoreSource
	// SignedURL is the name of the Secret with a signed URL of the object, empty for none.
	SignedURL string
	SHA256    string
	// Size in bytes of the object, PlainSize of the snapshot in it where that is another, and the Revision in it.
	Size, PlainSize, Revision int64
	RevisionBump              int64
	// SpecHash of the EtcdRestore, and Created, when it was created.
	SpecHash string
	Created  metav1.Time
	// StorageVersion of the snapshot, empty for etcd older than 3.6.
	StorageVersion string
	// Safety is the policy of the safety snapshot, empty for none. Saved is what became of it, nil while that is open.
	Safety v1beta2.SafetySnapshotPolicy
	Saved  *v1beta2.SafetySnapshotStatus
	// SavedFor is the time of Saved as it is stored. It tells which request it answers, so it is not corrected.
	SavedFor time.Time
	// Follow is the archive that a standby follows; nil for any other restore. Source is its folder then.
	Follow *FollowRequest
	// Volume is what the seed reads in place of Source; nil for any other restore. Size is that of the volume then.
	Volume *v1beta2.RestoreVolumeStatus
	// Archived is the newest revision of the old cluster that a continuous archive has, as restore-operator reports it; 0 for none.
	Archived int64
}

// FollowRequest names the cluster whose archive a standby follows.
type FollowRequest struct {
	// Cluster is the source, as "<namespace>/<name>". The others distinguish it from clusters with the same name.
	Cluster, ClusterUID, ClusterID, OnlyClusterID string
	// Promote is set once the standby is to become the cluster.
	Promote v1beta2.FollowPromotion
}

// Services says how the two Services stand.
type Services struct {
	// HeadlessCurrent: the Service of the members' DNS names is there and as it should be.
	HeadlessCurrent bool
	// WithoutUID: the selectors do not name the EtcdCluster's UID.
	WithoutUID bool
	// ClientExists: the Service for clients is there.
	ClientExists bool
	// ClientCurrent: it is as it should be for ClientIncarnation.
	ClientCurrent bool
	// ClientUnready: it selects members whose Pods are not ready, too.
	ClientUnready bool
	// TrafficDropped: this Kubernetes dropped spec.service.trafficDistribution from it.
	TrafficDropped bool
	// ClientIncarnation is the incarnation that it selects.
	ClientIncarnation int32
	// ClientClusterID is the cluster ID written on it.
	ClientClusterID string
	// ClientRestoreUID is the UID written on it of the EtcdRestore that made the incarnation.
	ClientRestoreUID types.UID
	// Outside are the addresses of its load balancer, if it has one.
	Outside []string
	// NodePort is the port of each node for clients, if it is of type NodePort.
	NodePort int32
}

// WaitKey tells waits apart. About are the first words of the message, with the member that the wait is about. The rest of the message has
// details that change while the wait is the same.
type WaitKey struct {
	Reason, Overdue, About string
	Progress               int64
}

// Waiting is what the operator waits for, and since when for each of these waits. Its zero value is ready to use. It is remembered from pass
// to pass, and may be forgotten: then the time of each wait begins again.
type Waiting struct {
	since map[WaitKey]time.Time
}

// Dispute is what members know and the record has, if a member that has data may know more than those that answered.
type Dispute struct{ Recorded, Applied []string }

// Accounts is what the operator knows of users and roles in etcd. It has no password.
type Accounts struct {
	// Known: Present was read in this incarnation, after the last change of the spec or of a user.
	Known   bool
	Present etcd.Accounts
	// Unread says why Present could not be read; empty if that is not so.
	Unread string
	// TooOld: a member does not know users and roles as etcd 3.5 does, so a person must act. Other failures may pass.
	TooOld bool
	// CertificateUser is the common name of the certificate with which the operator connects; empty without one.
	CertificateUser string
	// PasswordVersions are the resource versions of the Secrets with passwords, by the name of the Secret.
	PasswordVersions map[string]string
	// PasswordProblems say why a Secret has no password, by the name of the Secret.
	PasswordProblems map[string]string
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
	// Authentication is whether etcd's authentication is on in the data of a standby, as the run under way says.
	Authentication bool
	// Promoting: the Pod says to the standby that it is to become the cluster. Planned: it does so when its source has stopped.
	Promoting, Planned bool
	// Promoted is what a standby had at its promotion; nil before.
	Promoted *v1beta2.PromotedStatus
	// Read is what was read from the volume that the EtcdRestore names; nil before, and for any other restore.
	Read *v1beta2.VolumeRead
	// DoneAt is when the data was complete; zero before.
	DoneAt time.Time
}

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClusterPhase is the coarse state that coreos/etcd-operator reported. Conditions are more precise.
type ClusterPhase string

// The phases of coreos/etcd-operator. Failed is not final: the operator continues when its cause is fixed.
const (
	ClusterPhaseNone     ClusterPhase = ""
	ClusterPhaseCreating ClusterPhase = "Creating"
	ClusterPhaseRunning  ClusterPhase = "Running"
	ClusterPhaseFailed   ClusterPhase = "Failed"
)

// EtcdClusterStatus is the observed state of a cluster.
type EtcdClusterStatus struct {
	// Generation of the spec that this status describes. It is -1 until the operator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions of the cluster. Ready: it matches the spec; see its reason in docs/operations.md. Available: a quorum
	// serves clients. Progressing: the operator is changing something. Degraded: a member is missing or does not
	// answer. Stalled: you have to act. ReadOnly: etcd refuses writes, as spec.readOnly asks.
	//
	// Conditions written by coreos/etcd-operator have a field lastUpdateTime. It is accepted and has no effect.
	// +optional
	// +kubebuilder:validation:items:XPreserveUnknownFields
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Phase as coreos/etcd-operator reported it: Creating, Running or Failed. Failed is not final.
	// +optional
	Phase ClusterPhase `json:"phase,omitempty"`
	// Message of the condition that keeps the cluster from being Ready. It is empty if the cluster is Ready.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Copy of spec.paused.
	// +optional
	ControlPaused bool `json:"controlPaused,omitempty"`
	// Number of ready members.
	// +optional
	Size int `json:"size"`
	// Number of ready members and spec.size, for example "3/3".
	// +optional
	ReadyMembers string `json:"readyMembers,omitempty"`
	// Name of the Service for clients.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// Port of the Service for clients.
	// +optional
	ClientPort int `json:"clientPort,omitempty"`
	// Addresses of the Service for clients, in this Kubernetes and outside. It is absent until the Service exists.
	// +optional
	Endpoints *EndpointsStatus `json:"endpoints,omitempty"`
	// Names of the members, grouped by readiness.
	// +optional
	Members MembersStatus `json:"members,omitempty"`
	// Lowest version of etcd that any member runs.
	// +optional
	CurrentVersion string `json:"currentVersion,omitempty"`
	// Version that the operator is rolling out. It is empty if every member runs spec.version.
	// +optional
	TargetVersion string `json:"targetVersion,omitempty"`

	// Progress of preparing the members' data for another minor version. It is absent at other times.
	// +optional
	VersionChange *VersionChangeStatus `json:"versionChange,omitempty"`

	// ID of the etcd cluster, 16 hex digits. The operator sets it once the cluster has formed, and never bootstraps a
	// formed cluster again.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Number of the cluster's incarnation: 1 after the bootstrap, and one more after each restore.
	// +optional
	Incarnation int32 `json:"incarnation,omitempty"`
	// Last revision of the cluster while spec.readOnly refuses writes. etcd acknowledges no write after it. It is absent at
	// other times.
	// +optional
	LastRevision int64 `json:"lastRevision,omitempty"`
	// Label selector of the members' Pods, used by the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Name of the Secret that clients need, with the keys etcd-client.crt, etcd-client.key and etcd-client-ca.crt. A
	// Secret of TLS.static may have tls.crt, tls.key and ca.crt instead. It is empty without TLS for clients.
	// +optional
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`
	// Name of the Secret with which the operators connect to the members. It has the same keys as clientTLSSecret. It is
	// empty without TLS for clients, and until the operator has written the Secret.
	// +optional
	OperatorTLSSecret string `json:"operatorTLSSecret,omitempty"`
	// Copy of spec.auth.operatorSecret, from which backup-operator reads the user to authenticate as.
	// +optional
	OperatorAuthSecret string `json:"operatorAuthSecret,omitempty"`
	// Users and roles of spec.auth, as they are in etcd.
	// +optional
	Auth *AuthStatus `json:"auth,omitempty"`
	// Secret of the first user of spec.auth with a certificate, from which a Service Binding connects a workload.
	// +optional
	Binding *ServiceBinding `json:"binding,omitempty"`
	// Users for which the operator has requested a Certificate of cert-manager, or is about to. It deletes those of users that left the spec.
	// +optional
	// +listType=atomic
	UserCertificates []string `json:"userCertificates,omitempty"`
	// State of each member, as the member itself reported it.
	// +optional
	// +listType=map
	// +listMapKey=name
	MemberStatuses []MemberStatus `json:"memberStatuses,omitempty"`
	// Members whose Pods failed several times in a row: a node rejected or evicted them. The operator recreates such a
	// Pod after a delay that doubles from 1 s to 5 min.
	// +optional
	// +listType=map
	// +listMapKey=name
	PodFailures []PodFailure `json:"podFailures,omitempty"`
	// Members that the operator did not add. Their votes count, and the operator gives them no Pod and no volume. It
	// removes them only by consent: see the annotation etcd.database.coreos.com/remove-foreign-members and
	// spec.recovery.foreignMemberGrace.
	// +optional
	// +listType=map
	// +listMapKey=id
	ForeignMembers []ForeignMember `json:"foreignMembers,omitempty"`
	// Name of the member that is getting its vote. It counts as a voter until etcd answers with its role.
	// +optional
	PromotingMember string `json:"promotingMember,omitempty"`
	// Name of the voter that the operator is removing, or its ID if the operator did not add it. It may have no vote
	// any more.
	// +optional
	RemovingMember string `json:"removingMember,omitempty"`
	// IDs of members that etcd's CORRUPT alarm names, in hexadecimal. After such a member is removed, the operator disarms its alarm. It
	// disarms no alarm for an ID that never was a member's: somebody refuses writes by it.
	// +optional
	// +listType=set
	AccusedMembers []string `json:"accusedMembers,omitempty"`
	// How many learners in a row did not start, or did not catch up with the leader, and were removed. It is 0 after one got its vote.
	// +optional
	LearnerFailures int32 `json:"learnerFailures,omitempty"`
	// Time at which the last of these learners was removed.
	// +optional
	LearnerFailedAt *metav1.Time `json:"learnerFailedAt,omitempty"`
	// Progress of the last EtcdRestore that this cluster started.
	// +optional
	Restore *ClusterRestoreStatus `json:"restore,omitempty"`
	// The last 20 restores that this cluster carried out, oldest first. An EtcdRestore with the name and spec of one of
	// them is refused, and so is one that was created earlier. Both are carried out if spec.replaces is the present
	// clusterID.
	// +optional
	// +listType=map
	// +listMapKey=uid
	PastRestores []PastRestore `json:"pastRestores,omitempty"`
	// Progress of the last recovery from a lost quorum.
	// +optional
	Recovery *ClusterRecoveryStatus `json:"recovery,omitempty"`
	// Last recovery from a lost quorum that may have changed the history of the cluster. It is kept when a restore removes
	// status.recovery: backup-operator begins a timeline of the continuous archive after each such recovery.
	// +optional
	LastRecovery *PastRecovery `json:"lastRecovery,omitempty"`
	// Survivors of recoveries that were cancelled after they may have started alone. Their data may be clusters of their own, so they do not
	// start. An entry is removed when its member serves.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	CancelledSurvivors []CancelledSurvivor `json:"cancelledSurvivors,omitempty"`
	// Volumes with the data from before a restore or a recovery. They are deleted after spec.recovery.keepReplacedVolumes.
	// +optional
	// +listType=map
	// +listMapKey=name
	ReplacedVolumes []ReplacedVolume `json:"replacedVolumes,omitempty"`
	// Work of the operator against a used-up space quota. It is absent if no NOSPACE alarm is on.
	// +optional
	Space *SpaceStatus `json:"space,omitempty"`
	// Progress of the schedule in spec.defragmentation.
	// +optional
	Defragmentation *DefragmentationStatus `json:"defragmentation,omitempty"`
}

// MembersStatus lists the names of the members' Pods, in the form that coreos/etcd-operator used.
type MembersStatus struct {
	// Names of the members that serve clients.
	// +optional
	// +listType=atomic
	Ready []string `json:"ready,omitempty"`
	// Names of the members that do not serve clients.
	// +optional
	// +listType=atomic
	Unready []string `json:"unready,omitempty"`
}

// MemberRole is the role of a member in raft.
//
// +kubebuilder:validation:Enum=Leader;Voter;Learner
type MemberRole string

// The roles of a member. A leader is also a voter.
const (
	MemberLeader  MemberRole = "Leader"
	MemberVoter   MemberRole = "Voter"
	MemberLearner MemberRole = "Learner"
)

// MemberStatus is the last known state of one member.
type MemberStatus struct {
	// Name of the member, its Pod and its PersistentVolumeClaim.
	Name string `json:"name"`
	// ID of the member in etcd, 16 hex digits.
	// +optional
	ID string `json:"id,omitempty"`
	// Role of the member in raft: Leader, Voter or Learner. It is empty while unknown.
	// +optional
	Role MemberRole `json:"role,omitempty"`
	// Version of etcd that the member runs.
	// +optional
	Version string `json:"version,omitempty"`
	// URL at which the member serves clients.
	// +optional
	ClientURL string `json:"clientURL,omitempty"`
	// Size of the member's database file in bytes.
	// +optional
	DBSize int64 `json:"dbSize,omitempty"`
	// Size of the member's volume in bytes. It is 0 with emptyDir.
	// +optional
	VolumeSize int64 `json:"volumeSize,omitempty"`
	// UID of the PersistentVolumeClaim that the member was last seen to serve on. Another claim of
	// the same name is not taken for the member's data.
	// +optional
	VolumeClaimUID types.UID `json:"volumeClaimUID,omitempty"`
	// Name of the PersistentVolume that this claim is bound to.
	// +optional
	VolumeName string `json:"volumeName,omitempty"`
	// Whether the member serves clients.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// Whether the client Service does not select the member, because the annotation
	// etcd.database.coreos.com/fence-members names it.
	// +optional
	Fenced bool `json:"fenced,omitempty"`
	// Time at which the operator last defragmented the member.
	// +optional
	DefragmentedAt *metav1.Time `json:"defragmentedAt,omitempty"`
}

// ForeignMember is a member of the etcd cluster that the operator did not add.
type ForeignMember struct {
	// ID of the member in etcd, 16 hex digits.
	ID string `json:"id"`
	// Name that the member gave itself. It is empty until the member starts.
	// +optional
	Name string `json:"name,omitempty"`
	// Role of the member in raft: Voter or Learner.
	Role MemberRole `json:"role"`
	// URLs at which other members reach it.
	// +optional
	// +listType=atomic
	PeerURLs []string `json:"peerURLs,omitempty"`
	// Time at which the operator first saw it.
	Since metav1.Time `json:"since"`
}

// PodFailure counts the Pods of one member that failed in a row. It is removed once the member serves.
type PodFailure struct {
	// Name of the member.
	Name string `json:"name"`
	// Number of Pods that the operator recreated because they failed.
	Count int32 `json:"count"`
	// Time at which the operator last recreated the Pod.
	LastTime metav1.Time `json:"lastTime"`
}

// RestoreStep is the step that a restore has reached in the cluster.
//
// +kubebuilder:validation:Enum=Seeding;Switching;Growing;Complete;Failed
type RestoreStep string

// The steps of a restore, in order. The old members serve until Seeding ends. A restore returns from Switching to Seeding if it was held
// up while a quorum of the old members ran. Then it can still be cancelled.
const (
	// RestoreSeeding means that a seed of the next incarnation is restored and verified while the old members serve.
	RestoreSeeding RestoreStep = "Seeding"
	// RestoreSwitching means that the old members stop, and then the client Service selects the seed.
	RestoreSwitching RestoreStep = "Switching"
	// RestoreGrowing means that the seed serves and members are added up to spec.size. The old volumes are kept.
	RestoreGrowing RestoreStep = "Growing"
	// RestoreComplete means that the cluster has spec.size members, and the old volumes are deleted.
	RestoreComplete RestoreStep = "Complete"
	// RestoreFailed means that the seed failed and was removed. The message says whether the old members continue.
	RestoreFailed RestoreStep = "Failed"
)

// ClusterRestoreStatus is the progress of one EtcdRestore in the cluster.
type ClusterRestoreStatus struct {
	// Name of the EtcdRestore.
	Name string `json:"name"`
	// UID of the EtcdRestore. It distinguishes two EtcdRestores that had the same name.
	UID types.UID `json:"uid"`
	// Time at which the EtcdRestore was created.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty"`
	// Step that the restore has reached: Seeding, Switching, Growing, Complete or Failed.
	Step RestoreStep `json:"step"`
	// What the restore is waiting for, or why it failed.
	// +optional
	Message string `json:"message,omitempty"`
	// Progress of the step, 0 to 100. While Seeding it is the share of the snapshot that is read and restored. While
	// Growing it is the share of members that serve.
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// Number of the incarnation that the restore creates.
	Incarnation int32 `json:"incarnation"`
	// ID of the etcd cluster that the restore replaces. It is empty if there was none.
	// +optional
	ClusterIDBefore string `json:"clusterIDBefore,omitempty"`
	// ID of the restored etcd cluster. It is set when the switch begins.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Revision of the restored cluster when its seed was verified.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Hash of the spec of the EtcdRestore, without replaces, safetySnapshot and ttlSecondsAfterFinished.
	// +optional
	SpecHash string `json:"specHash,omitempty"`
	// Highest revision that the cluster is known to have had before the restore.
	// +optional
	RevisionBefore int64 `json:"revisionBefore,omitempty"`
	// Number that the restore adds to the revision of the snapshot: spec.revisionBump of the EtcdRestore, and the
	// distance from the snapshot to revisionBefore. It is 0 if spec.revisionBump is 0.
	// +optional
	RevisionBump int64 `json:"revisionBump,omitempty"`
	// Time at which the seed was ready, or at which writes were refused for an exact safety snapshot. From then on the restore waits for it. If the switch does not
	// follow within 30 minutes, the operator sets the time again, and the safety snapshot is taken again.
	// +optional
	SeedReadyTime *metav1.Time `json:"seedReadyTime,omitempty"`
	// Number of times that the restore returned from Switching to Seeding, because it was held up before the old members
	// stopped. After the third time the restore fails.
	// +optional
	Returns int32 `json:"returns,omitempty"`
	// Time since which the API server refuses the Pod or the volume of the seed. If it does so for 15 minutes, the restore
	// fails. It is absent while the seed has a Pod.
	// +optional
	SeedRefusedTime *metav1.Time `json:"seedRefusedTime,omitempty"`
	// Path of the snapshot of the data before the restore, "<bucket>/<key>". It is empty if none was taken.
	// +optional
	SafetySnapshot string `json:"safetySnapshot,omitempty"`
	// spec.safetySnapshot of the EtcdRestore, if it is Exact. It is set when the switch begins, and counts if the EtcdRestore is deleted after that.
	// +optional
	SafetySnapshotPolicy SafetySnapshotPolicy `json:"safetySnapshotPolicy,omitempty"`
	// Last revision of the cluster before the restore: it acknowledged no write after it. It is absent if no quorum answered, so that the
	// operator could not refuse writes before the switch.
	// +optional
	LastRevision int64 `json:"lastRevision,omitempty"`
	// Revision of the safety snapshot. It is absent if none was taken.
	// +optional
	SafetyRevision int64 `json:"safetyRevision,omitempty"`
	// Number of revisions up to lastRevision that neither the safety snapshot nor a continuous archive has. The restore loses the writes of these
	// revisions. It is absent if lastRevision is.
	// +optional
	UnsavedRevisions *int64 `json:"unsavedRevisions,omitempty"`
	// How far a standby is. It is absent for any other restore. A standby is in the step Seeding until it is promoted.
	// +optional
	Follow *FollowStatus `json:"follow,omitempty"`
	// Volume from which the seed is restored. It is absent for any other restore.
	// +optional
	Volume *ClusterVolumeStatus `json:"volume,omitempty"`
}

// EndpointsStatus lists the URLs at which clients reach the cluster.
type EndpointsStatus struct {
	// URL for clients in this Kubernetes.
	// +optional
	// +listType=atomic
	Internal []string `json:"internal,omitempty"`
	// URLs for clients outside: those addresses of the load balancer that the certificates of members have, and the DNS names of
	// extraNames. With TLS.static or without TLS it has all addresses of the load balancer, because the operator does not know the
	// names of your certificate. It is empty unless spec.service.type is LoadBalancer.
	// +optional
	// +listType=atomic
	External []string `json:"external,omitempty"`
	// Port of each node for clients. It is absent unless spec.service.type is NodePort.
	// +optional
	NodePort int32 `json:"nodePort,omitempty"`
	// Why the load balancer has an address and external is empty.
	// +optional
	Message string `json:"message,omitempty"`
}

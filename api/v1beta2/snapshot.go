package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DrillResult is the result of a restore test.
//
// +kubebuilder:validation:Enum=Passed;Failed
type DrillResult string

// Passed means that the snapshot can be restored, Failed that it cannot.
const (
	DrillPassed DrillResult = "Passed"
	DrillFailed DrillResult = "Failed"
)

// Snapshot describes one snapshot object whose content was verified.
type Snapshot struct {
	// The path "<bucket>/<key>" of the object.
	Path string `json:"path"`
	// The revision of etcd at which the snapshot was taken.
	Revision int64 `json:"revision"`
	// The number of live keys in the snapshot, as etcdutl 3.7 counts them.
	// +optional
	Keys int64 `json:"keys,omitempty"`
	// The size of the object in bytes.
	Size int64 `json:"size"`
	// The size in bytes of the snapshot in a compressed or encrypted object. 0 if the object is neither.
	// +optional
	PlainSize int64 `json:"plainSize,omitempty"`
	// The SHA-256 of the object, 64 hex digits.
	SHA256 string `json:"sha256"`
	// The etcd version of the member that the snapshot was taken from. Empty if the object does not record it.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// The storage version of the database, "3.6.0" or newer. Empty for older databases, which do not record it.
	// +optional
	StorageVersion string `json:"storageVersion,omitempty"`
	// The ID of the cluster that the snapshot was taken from, 16 hex digits. Empty if the object does not record it.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// The time at which the snapshot was taken, RFC 3339, UTC. Empty if the object does not record it.
	// +optional
	CreatedAt string `json:"createdAt,omitempty"`
	// Whether the snapshot was taken from a member that could not reach a quorum. Such a snapshot may lack writes that
	// were confirmed to clients, and may hold writes that never were.
	// +optional
	NoQuorum bool `json:"noQuorum,omitempty"`
	// The ID of the key that has signed the snapshot: the first 16 hex digits of the SHA-256 of the public key. Empty if no signature was
	// written or required.
	// +optional
	SignedBy string `json:"signedBy,omitempty"`
	// Alarms that were on when the snapshot was taken, for example "CORRUPT, NOSPACE". A restore removes them. It is only
	// set in the status of an EtcdRestore.
	// +optional
	Alarms string `json:"alarms,omitempty"`
	// Result of the last restore test of this snapshot: Passed or Failed. It is empty if the snapshot was not tested.
	// +optional
	RestoreTest DrillResult `json:"restoreTest,omitempty"`
}

// The defaults of ContinuousArchive.
const (
	DefaultMaxLag = "5s"
	DefaultWindow = "168h"
)

// ContinuousArchive describes the archive of all changes of a cluster.
type ContinuousArchive struct {
	// Longest time for which a change may be missing in the store, from 1s to 10m. A lower value makes smaller and more
	// objects: at most one for each such time in which something changed. Default: 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16 && self.matches('^([0-9]{1,6}m|[0-9]{1,9}s)+$') && duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="maxLag must be 1s to 10m: write for example \"5s\""
	// +kubebuilder:validation:MaxLength=16
	MaxLag string `json:"maxLag,omitempty"`
	// How far back each revision can be restored, from 1h. All snapshots of this time and the newest one before it are
	// kept, although maxBackups and retention do not keep them. Older parts of the archive are removed after the next
	// snapshot. Default: 168h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16 && self.matches('^([0-9]{1,6}h|[0-9]{1,8}m|[0-9]{1,9}s)+$') && duration(self) >= duration('1h')",message="window must be at least 1h: write for example \"168h\""
	// +kubebuilder:validation:MaxLength=16
	Window string `json:"window,omitempty"`
	// Whether the cluster hands its clients over to a standby, an EtcdRestore with follow.promote: Planned. The operator stops all writes of the cluster,
	// and ends the archive with its last revision. false calls that off, and the cluster takes writes again, unless a standby was promoted before.
	// status.switchover says what has happened. Default: false.
	// +optional
	Switchover bool `json:"switchover,omitempty"`
}

// SwitchoverPhase is how far a cluster has handed its clients over.
type SwitchoverPhase string

const (
	// SwitchoverFencing stops the writes, and waits until the archive has all of them.
	SwitchoverFencing SwitchoverPhase = "Fencing"
	// SwitchoverReady means that the archive has ended, and that a standby can be promoted.
	SwitchoverReady SwitchoverPhase = "Ready"
	// SwitchoverPromoted means that a standby has become the cluster. The source never takes writes again.
	SwitchoverPromoted SwitchoverPhase = "Promoted"
	// SwitchoverCallingOff lets the cluster take writes again.
	SwitchoverCallingOff SwitchoverPhase = "CallingOff"
)

// SwitchoverStatus is how far a cluster has handed its clients over to a standby.
type SwitchoverStatus struct {
	// Name of the objects of this switchover in the store.
	ID string `json:"id"`
	// How far it is: Fencing, Ready, Promoted or CallingOff.
	Phase SwitchoverPhase `json:"phase"`
	// Number of the timeline of the archive.
	// +optional
	Timeline int64 `json:"timeline,omitempty"`
	// Last revision of the cluster. It is absent until etcd refuses writes.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// EtcdRestore that has become the cluster, "<namespace>/<name>".
	// +optional
	Promoted string `json:"promoted,omitempty"`
	// What the switchover waits for, and what you can do.
	// +optional
	Message string `json:"message,omitempty"`
}

// RecoverableRange is a part of the history of a cluster in which each revision and each second can be restored.
type RecoverableRange struct {
	// First point: the oldest snapshot of the range.
	From RecoverablePoint `json:"from"`
	// Last point: all changes up to it are in the store.
	To RecoverablePoint `json:"to"`
	// Number of the timeline. Each restore begins a new one, because the cluster then has another history.
	Timeline int64 `json:"timeline"`
	// Revisions of the range that a newer timeline had, too. A restore with select.revision uses only that timeline for them. A restore with
	// select.time uses this range. It is absent if there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	OnlyByTime []RevisionRange `json:"onlyByTime,omitempty"`
}

// RevisionRange has the revisions from First to Last.
type RevisionRange struct {
	// First revision.
	First int64 `json:"first"`
	// Last revision.
	Last int64 `json:"last"`
}

// ArchiveProof is the result of a proof of the continuous archive. The operator rolls an earlier snapshot forward to a later one, and
// compares all keys and values of the two.
type ArchiveProof struct {
	// Result of the proof: Passed, Failed, or Skipped if there was nothing to prove or to prove it with.
	Result ProofResult `json:"result"`
	// Time at which the proof ended.
	Time metav1.Time `json:"time"`
	// Location of the earlier snapshot, "<bucket>/<key>". It is empty if the proof was skipped.
	// +optional
	From string `json:"from,omitempty"`
	// Location of the later snapshot, "<bucket>/<key>".
	To string `json:"to"`
	// Revision of the later snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Number of segments of the archive that were replayed.
	// +optional
	Segments int32 `json:"segments,omitempty"`
	// What the proof found.
	// +optional
	Message string `json:"message,omitempty"`
}

// ProofResult is the result of a proof of a continuous archive.
type ProofResult string

// The results of a proof.
const (
	ProofPassed  ProofResult = "Passed"
	ProofFailed  ProofResult = "Failed"
	ProofSkipped ProofResult = "Skipped"
)

// RecoverablePoint is a revision and a time.
type RecoverablePoint struct {
	// Revision of etcd.
	Revision int64 `json:"revision"`
	// Time up to which no change is missing.
	Time metav1.Time `json:"time"`
}

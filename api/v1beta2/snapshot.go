package v1beta2

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

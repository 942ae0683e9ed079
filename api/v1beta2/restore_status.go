package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PrefixesStatus compares the keys of a snapshot with those of a running cluster, below the prefixes of an EtcdRestore. It has no values.
type PrefixesStatus struct {
	// ID of the etcd cluster whose keys were compared, 16 hex digits.
	ClusterID string `json:"clusterID"`
	// Revision of the cluster at the comparison. A key that a client has written later is not changed.
	Revision int64 `json:"revision"`
	// Time of the comparison.
	Time metav1.Time `json:"time"`
	// Number of keys that only the snapshot has. The restore creates them.
	// +optional
	Created int64 `json:"created,omitempty"`
	// Number of keys that have another value in the snapshot. The restore changes them.
	// +optional
	Changed int64 `json:"changed,omitempty"`
	// Number of keys that only the cluster has, if spec.prune is true. The restore deletes them.
	// +optional
	Deleted int64 `json:"deleted,omitempty"`
	// Number of keys that only the cluster has, if spec.prune is false. The restore keeps them.
	// +optional
	Kept int64 `json:"kept,omitempty"`
	// Number of keys that have the same value in both.
	// +optional
	Unchanged int64 `json:"unchanged,omitempty"`
	// Number of keys that have a lease in the snapshot or in the cluster. The restore leaves them as they are, because a key without its lease would
	// never end.
	// +optional
	Leased int64 `json:"leased,omitempty"`
	// Number of keys that were not changed, because clients have written them since the comparison.
	// +optional
	Conflicts int64 `json:"conflicts,omitempty"`
	// The first keys of each kind, quoted, for example: create "/registry/a".
	// +optional
	// +listType=atomic
	First []string `json:"first,omitempty"`
	// Snapshot whose keys are written, after the comparison.
	// +optional
	Source *RestoreSource `json:"source,omitempty"`
}

// SafetySnapshotPolicy decides whether a restore saves the data that it replaces.
//
// +kubebuilder:validation:Enum=Skip;IfPossible;Required;Exact
type SafetySnapshotPolicy string

// The policies of safety snapshots.
const (
	// SafetySnapshotSkip takes none.
	SafetySnapshotSkip SafetySnapshotPolicy = "Skip"
	// SafetySnapshotIfPossible takes one, and continues without one if that fails.
	SafetySnapshotIfPossible SafetySnapshotPolicy = "IfPossible"
	// SafetySnapshotRequired takes one, and fails the restore if that fails.
	SafetySnapshotRequired SafetySnapshotPolicy = "Required"
	// SafetySnapshotExact is Required, and takes it while the old members refuse writes. So it has every acknowledged write.
	SafetySnapshotExact SafetySnapshotPolicy = "Exact"
)

// SafetySnapshotResult is what became of a safety snapshot.
//
// +kubebuilder:validation:Enum=Taken;NotTaken
type SafetySnapshotResult string

// The results of safety snapshots.
const (
	// SafetySnapshotTaken means that the old data is in the store.
	SafetySnapshotTaken SafetySnapshotResult = "Taken"
	// SafetySnapshotNotTaken means that it is not; the message says why.
	SafetySnapshotNotTaken SafetySnapshotResult = "NotTaken"
)

// SafetySnapshotLimit is how long a restore whose seed is ready waits for its safety snapshot.
const SafetySnapshotLimit = 15 * time.Minute

// SafetySnapshotStatus is the snapshot of the old cluster that a restore took before the switch.
type SafetySnapshotStatus struct {
	// Whether the snapshot was taken: Taken or NotTaken.
	Result SafetySnapshotResult `json:"result"`
	// The path "<bucket>/<key>" of the object.
	// +optional
	Path string `json:"path,omitempty"`
	// Revision of the old cluster in the snapshot.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Time at which the operator began to take the snapshot. The snapshot has every write that etcd had acknowledged by
	// then. If none was taken, it is the time at which cluster-operator asked for one.
	Time metav1.Time `json:"time"`
	// Why there is no snapshot. It is empty if there is one.
	// +optional
	Message string `json:"message,omitempty"`
}

// Requires reports whether a restore fails without a safety snapshot.
func (p SafetySnapshotPolicy) Requires() bool {
	return p == SafetySnapshotRequired || p == SafetySnapshotExact
}

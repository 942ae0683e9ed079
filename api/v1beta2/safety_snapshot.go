package v1beta2

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

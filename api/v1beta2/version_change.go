package v1beta2

// VersionChangeStep is how far the members' data is prepared for another minor version of etcd.
// +kubebuilder:validation:Enum=Preparing;Snapshotted;Ready
type VersionChangeStep string

// The steps of a change of version, in order.
const (
	// VersionChangePreparing: etcd may be bringing the data to another version from here on.
	VersionChangePreparing VersionChangeStep = "Preparing"
	// VersionChangeSnapshotted: every member has taken a raft snapshot that covers what the new version cannot read,
	// and the cluster's version is still to come back.
	VersionChangeSnapshotted VersionChangeStep = "Snapshotted"
	// VersionChangeReady: a member's data is ready to be started on the new version.
	VersionChangeReady VersionChangeStep = "Ready"
)

// VersionChangeStatus is what the members' data was proven to be prepared for, before the first of them is stopped:
// a member that is stopped cannot be asked.
type VersionChangeStatus struct {
	// to is the minor version, for example "3.7".
	To string `json:"to"`
	// step that was reached.
	Step VersionChangeStep `json:"step"`
	// index in the raft log that every member must have applied.
	// +optional
	Index int64 `json:"index,omitempty"`
}

package v1beta2

// VersionChangeStep is the step that preparing the data for another minor version has reached.
//
// +kubebuilder:validation:Enum=Preparing;Snapshotted;Ready
type VersionChangeStep string

// The steps of a change of version, in order.
const (
	// VersionChangePreparing means that etcd may be converting the data to another version.
	VersionChangePreparing VersionChangeStep = "Preparing"
	// VersionChangeSnapshotted means that every member has taken a raft snapshot that covers all entries which the new
	// version cannot read. The cluster's version is not restored yet.
	VersionChangeSnapshotted VersionChangeStep = "Snapshotted"
	// VersionChangeReady means that members can start on the new version.
	VersionChangeReady VersionChangeStep = "Ready"
)

// VersionChangeStatus is the progress of preparing the members' data for another minor version. The operator records
// it before it stops the first member, because a stopped member cannot be asked.
type VersionChangeStatus struct {
	// Minor version that the data is prepared for, for example "3.7".
	To string `json:"to"`
	// Step that was reached: Preparing, Snapshotted or Ready.
	Step VersionChangeStep `json:"step"`
	// Index in the raft log that every member must have applied.
	// +optional
	Index int64 `json:"index,omitempty"`
}

package v1beta2

// RetentionPolicy decides what happens to a volume, with the values that a StatefulSet has.
//
// +kubebuilder:validation:Enum=Delete;Retain
type RetentionPolicy string

// Retain keeps the volumes, Delete removes them.
const (
	RetainVolumes RetentionPolicy = "Retain"
	DeleteVolumes RetentionPolicy = "Delete"
)

// VolumeRetentionPolicy decides what happens to the members' PersistentVolumeClaims.
type VolumeRetentionPolicy struct {
	// What happens to the volumes when the EtcdCluster is deleted. Delete removes them. Retain keeps them, and a later
	// EtcdCluster of the same name does not use them. Default: Delete.
	// +optional
	// +kubebuilder:default=Delete
	WhenDeleted RetentionPolicy `json:"whenDeleted,omitempty"`
}

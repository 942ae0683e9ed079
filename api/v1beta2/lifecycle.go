package v1beta2

// RetentionPolicy says what becomes of a volume, in the words of a StatefulSet.
// +kubebuilder:validation:Enum=Delete;Retain
type RetentionPolicy string

// What becomes of volumes.
const (
	RetainVolumes RetentionPolicy = "Retain"
	DeleteVolumes RetentionPolicy = "Delete"
)

// VolumeRetentionPolicy says what becomes of the members' PersistentVolumeClaims. Those of members that were removed
// are always deleted, once what replaces them is proven.
type VolumeRetentionPolicy struct {
	// whenDeleted says what becomes of them when the EtcdCluster is deleted: Delete (the default) or Retain.
	// +optional
	// +kubebuilder:default=Delete
	WhenDeleted RetentionPolicy `json:"whenDeleted,omitempty"`
}

// RetainsVolumes says whether volumes stay when the EtcdCluster is deleted.
func (s *EtcdClusterSpec) RetainsVolumes() bool {
	return s.VolumeRetention != nil && s.VolumeRetention.WhenDeleted == RetainVolumes
}

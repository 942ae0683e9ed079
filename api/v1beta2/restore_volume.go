package v1beta2

import "k8s.io/apimachinery/pkg/types"

// RestoreVolume names the data directory of an etcd on a volume.
type RestoreVolume struct {
	// Name of the PersistentVolumeClaim, in the namespace of the EtcdRestore. No Pod may use it. The seed only reads the volume. A restore never changes or
	// deletes it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="claimName must be the name of a PersistentVolumeClaim in this namespace: kubectl get pvc lists them"
	ClaimName string `json:"claimName"`
	// Folder of the volume that has the data directory, for example "data". It has the folder "member", or one folder with it. Default: the whole volume.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..')",message="volume.path is a folder of the volume: write it without a leading / and without .."
	Path string `json:"path,omitempty"`
}

// RestoreVolumeStatus is the volume from which the seed reads.
type RestoreVolumeStatus struct {
	RestoreVolume `json:",inline"`
	// UID of the PersistentVolumeClaim.
	// +optional
	ClaimUID types.UID `json:"claimUID,omitempty"`
	// Size of the volume in bytes.
	// +optional
	Size int64 `json:"size,omitempty"`
	// What the seed has read from the volume. It is absent until the seed has restored it.
	// +optional
	Read *VolumeRead `json:"read,omitempty"`
}

// ClusterVolumeStatus is the volume from which the seed of a cluster is restored.
type ClusterVolumeStatus struct {
	// Name of the PersistentVolumeClaim.
	ClaimName string `json:"claimName"`
	// UID of the PersistentVolumeClaim that restore-operator has accepted.
	// +optional
	ClaimUID types.UID `json:"claimUID,omitempty"`
	// What the seed has read from the volume. It is absent until the seed has restored it.
	// +optional
	Read *VolumeRead `json:"read,omitempty"`
}

// VolumeRead is what a seed has read from the data directory of a member.
type VolumeRead struct {
	// Last revision of the data directory. It includes what only the write-ahead log has.
	Revision int64 `json:"revision"`
	// Number of entries that only the write-ahead log has and that are restored.
	// +optional
	LogEntries int64 `json:"logEntries,omitempty"`
	// Number of entries at the end of the write-ahead log that are not restored, because no record says that a quorum has them.
	// +optional
	LeftOutEntries int64 `json:"leftOutEntries,omitempty"`
	// First revision that the entries which are not restored would have written. It is absent if none of them writes a key.
	// +optional
	FirstLeftOutRevision int64 `json:"firstLeftOutRevision,omitempty"`
}

package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

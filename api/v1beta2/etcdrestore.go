package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRestore brings a snapshot back into an EtcdCluster of the same namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,shortName=etcdrestore,categories=etcd-operator
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.etcdCluster.name`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Percent",type=integer,JSONPath=`.status.percent`,description="how far the step is that Status names"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.snapshot.revision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.snapshot.path`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants. A restore happens once: to try again, make another EtcdRestore.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a restore happens once and its spec cannot change: delete this EtcdRestore or make one with another name"
	Spec EtcdRestoreSpec `json:"spec"`
	// status is what restore-operator proved and saw. Nobody else writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status EtcdRestoreStatus `json:"status,omitempty"`
}

// EtcdRestoreList is a list of EtcdRestores.
//
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdRestore `json:"items"`
}

// EtcdRestoreSpec says which snapshot to bring back, and where.
//
// +kubebuilder:validation:XValidation:rule="has(self.backupStorageType) != has(self.etcdBackup)",message="write either backupStorageType with its block (an object in a store) or etcdBackup.name (that EtcdBackup's newest snapshot), and not both"
// +kubebuilder:validation:XValidation:rule="!has(self.select) || !has(self.etcdBackup) || !has(self.etcdBackup.snapshot)",message="etcdBackup.snapshot names one snapshot and select chooses one: write one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.backupStorageType) || self.backupStorageType != 'S3' || has(self.s3)",message="backupStorageType S3 needs an s3 block with path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="!has(self.backupStorageType) || self.backupStorageType != 'GCS' || has(self.gcs)",message="backupStorageType GCS needs a gcs block with path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="(has(self.backupStorageType) && !(self.backupStorageType in ['S3', 'GCS', 'ABS', 'OSS'])) || ((has(self.backupStorageType) && self.backupStorageType == 'S3') || !has(self.s3)) && ((has(self.backupStorageType) && self.backupStorageType == 'GCS') || !has(self.gcs)) && ((has(self.backupStorageType) && self.backupStorageType == 'ABS') || !has(self.abs)) && ((has(self.backupStorageType) && self.backupStorageType == 'OSS') || !has(self.oss))",message="only the block that backupStorageType names may be there: remove the others"
// +kubebuilder:validation:XValidation:rule="(!has(self.s3) || !has(self.s3.storageClass) && !has(self.s3.objectLock) && !has(self.s3.tags)) && (!has(self.gcs) || !has(self.gcs.storageClass) && !has(self.gcs.kmsKeyName))",message="storageClass, objectLock, tags and kmsKeyName are for writing: they belong into an EtcdBackup, remove them here"
type EtcdRestoreSpec struct {
	// etcdCluster is the EtcdCluster to restore. Where there is none of that name yet, the restore waits for it.
	// +required
	EtcdCluster ClusterReference `json:"etcdCluster"`
	// backupStorageType is S3 or GCS.
	// +optional
	BackupStorageType StorageType `json:"backupStorageType,omitempty"`
	// etcdBackup takes a snapshot of an EtcdBackup, the newest unless it says which, with that EtcdBackup's store and Secret.
	// +optional
	EtcdBackup *BackupReference `json:"etcdBackup,omitempty"`
	// select takes the newest snapshot that fits, and an empty one the newest of all. With backupStorageType the
	// path of the block is then a folder, "<bucket>/<folder>", and with etcdBackup the folder of its series is
	// looked through. Only snapshots with a manifest count.
	// +optional
	Select *SnapshotSelector `json:"select,omitempty"`
	// ttlSecondsAfterFinished deletes the EtcdRestore so long after it was complete or had failed; without it, it
	// stays. One that failed stays as long as its cluster, which never was, would else start empty.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// revisionBump is added to the snapshot's revision and everything before is marked compacted, so that no
	// watcher or cache is ahead of the store. 0 turns both off.
	// +optional
	// +kubebuilder:default=1000000000
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000
	RevisionBump *int64 `json:"revisionBump,omitempty"`

	Storage `json:",inline"`
}

// SnapshotSelector says which of several snapshots fit; the newest of them is taken.
type SnapshotSelector struct {
	// before is the time, RFC 3339, after which no snapshot fits.
	// +optional
	Before *metav1.Time `json:"before,omitempty"`
	// clusterID of etcd, 16 hex digits, that the snapshot must be of. A cluster has another one after each restore.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{16}$')",message="write the 16 hex digits of status.clusterID of an EtcdCluster"
	ClusterID string `json:"clusterID,omitempty"`
}

// DefaultRevisionBump is added to the revision of a restored cluster where the spec has nothing else; etcd's
// own documentation of disaster recovery uses the same figure.
const DefaultRevisionBump int64 = 1_000_000_000

// EtcdRestoreStatus is what restore-operator proved and saw.
type EtcdRestoreStatus struct {
	// observedGeneration is the generation that this status is about; -1 before the first look.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, Verified (the snapshot is proven), Restoring, Complete, Failed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// succeeded is true when the cluster serves the restored data at its full size, and never before.
	// +optional
	Succeeded bool `json:"succeeded"`
	// reason says why the restore did not succeed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// percent is how far the step is that the reason of Ready names: of the bytes read while Verifying and Seeding, of
	// the members while Growing.
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// choice says why this snapshot was taken, where one had to be chosen.
	// +optional
	Choice string `json:"choice,omitempty"`
	// snapshot is what was proven. cluster-operator acts only on a restore whose Verified condition is True.
	// +optional
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// source is where the proven object is, ready to be read by the seed.
	// +optional
	Source *RestoreSource `json:"source,omitempty"`
	// clusterIDBefore is the etcd cluster that was replaced, 16 hex digits; empty when there was none.
	// +optional
	ClusterIDBefore string `json:"clusterIDBefore,omitempty"`
	// clusterID is the restored etcd cluster, 16 hex digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// restoredRevision of the restored etcd cluster when its first member was proven: that of the snapshot and the bump.
	// +optional
	RestoredRevision int64 `json:"restoredRevision,omitempty"`
	// attempts to read the source, failed ones included.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// startTime is when restore-operator took the restore up.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when it was complete or had failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RestoreSource is one exact object and how to reach it.
//
// It is what cluster-operator hands to the seed; everything in it was used by restore-operator's proof.
type RestoreSource struct {
	// storageType is S3 or GCS.
	StorageType StorageType `json:"storageType"`
	// bucket of the object.
	Bucket string `json:"bucket"`
	// key of the object.
	Key string `json:"key"`
	// endpoint of the store; empty means the cloud's own.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// region of the bucket.
	// +optional
	Region string `json:"region,omitempty"`
	// forcePathStyle puts the bucket in the path.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
	// customerKey: the object is encrypted by the key sse-customer-key of the Secret (SSE-C).
	// +optional
	CustomerKey bool `json:"customerKey,omitempty"`
	// secret with the credentials, in the restore's namespace; empty means the ambient identity.
	// +optional
	Secret string `json:"secret,omitempty"`
}

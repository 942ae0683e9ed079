package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup is one snapshot of an etcd cluster, or a series of them.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackups,shortName=etcdbackup,categories=etcd-operator
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.etcdRevision`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.status.snapshot.size`,description="bytes"
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessDate`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.snapshot.path`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user wants.
	// +required
	Spec EtcdBackupSpec `json:"spec"`
	// status is what backup-operator did. Nobody else writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status EtcdBackupStatus `json:"status,omitempty"`
}

// EtcdBackupList is a list of EtcdBackups.
//
// +kubebuilder:object:root=true
type EtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackup `json:"items"`
}

// EtcdBackupSpec says what to save, where, and how often.
//
// +kubebuilder:validation:XValidation:rule="(has(self.etcdCluster) ? 1 : 0) + (has(self.etcdEndpoints) && self.etcdEndpoints.size() > 0 ? 1 : 0) == 1",message="write either etcdCluster.name (a cluster of this operator) or etcdEndpoints (any other etcd), and not both"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || has(self.s3)",message="storageType S3 needs an s3 block with path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || has(self.gcs)",message="storageType GCS needs a gcs block with path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="!(self.storageType in ['S3', 'GCS', 'ABS', 'OSS']) || (self.storageType == 'S3' || !has(self.s3)) && (self.storageType == 'GCS' || !has(self.gcs)) && (self.storageType == 'ABS' || !has(self.abs)) && (self.storageType == 'OSS' || !has(self.oss))",message="only the block that storageType names may be there: remove the others"
type EtcdBackupSpec struct {
	// etcdCluster is the EtcdCluster to save; its endpoints and TLS are taken from its status.
	// +optional
	EtcdCluster *ClusterReference `json:"etcdCluster,omitempty"`
	// etcdEndpoints are client URLs of one etcd cluster that this suite does not manage, or that it manages and you name directly.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`
	// clientTLSSecret holds etcd-client.crt, etcd-client.key and etcd-client-ca.crt for etcdEndpoints with TLS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`
	// storageType is S3 or GCS.
	// +required
	StorageType StorageType `json:"storageType"`
	// backupPolicy says how long one attempt may take, how often to take one and how many to keep.
	// +optional
	BackupPolicy *BackupPolicy `json:"backupPolicy,omitempty"`
	// compression of the objects: zstd. Without it an object is a plain snapshot file, which etcdutl restores as it is.
	// +optional
	Compression Compression `json:"compression,omitempty"`
	// encryption of the objects before they leave. Without it an object is a plain snapshot file.
	// +optional
	Encryption *Encryption `json:"encryption,omitempty"`

	Storage `json:",inline"`
}

// BackupPolicy has the fields of coreos/etcd-operator.
type BackupPolicy struct {
	// timeoutInSecond is the limit of one attempt at a snapshot. 0 means the default of 600 s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`
	// backupIntervalInSecond between two snapshots of a series. 0 means one snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`
	// maxBackups of a series to keep, the oldest go first. 0 keeps all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBackups int `json:"maxBackups,omitempty"`
}

// DefaultBackupTimeoutSeconds is the limit of one attempt where the spec has none.
const DefaultBackupTimeoutSeconds int64 = 600

// EtcdBackupStatus is what backup-operator did.
type EtcdBackupStatus struct {
	// observedGeneration is the generation that this status is about; -1 before the first look.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, Complete (one-shot: the snapshot is proven), Failed (a person must act), Running.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// succeeded says whether the last attempt did.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Reason says why the last attempt did not succeed.
	// +optional
	Reason string `json:"Reason,omitempty"`
	// etcdVersion of the member that the newest snapshot was taken from.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// etcdRevision of the newest snapshot.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// lastSuccessDate is when the newest snapshot was proven.
	// +optional
	LastSuccessDate *metav1.Time `json:"lastSuccessDate,omitempty"`

	// snapshot is the newest proven one.
	// +optional
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// attempts of the snapshot that is due, failed ones included.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// lastAttemptTime is when the last attempt began.
	// +optional
	LastAttemptTime *metav1.Time `json:"lastAttemptTime,omitempty"`
	// nextTime is when the next snapshot of a series, or the next attempt, is due.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

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
// +kubebuilder:printcolumn:name="Progress",type=integer,JSONPath=`.status.progress.percent`,description="percent of the running attempt"
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessDate`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Next",type=string,priority=1,JSONPath=`.status.nextTime`
// +kubebuilder:printcolumn:name="Verified",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
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
// +kubebuilder:validation:XValidation:rule="!has(self.ttlSecondsAfterFinished) || !has(self.backupPolicy) || (!has(self.backupPolicy.schedule) || self.backupPolicy.schedule.size() == 0) && (!has(self.backupPolicy.backupIntervalInSecond) || self.backupPolicy.backupIntervalInSecond == 0)",message="ttlSecondsAfterFinished is for a single snapshot: a series has no end"
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
	// noQuorum says what to do where no quorum stands behind any member: Refuse (the default), or Mark: take what
	// the most advanced voter has, and say so in the manifest and the status.
	// +optional
	NoQuorum NoQuorumPolicy `json:"noQuorum,omitempty"`
	// verify is how each snapshot is proven: Checksum (the default) before it becomes an object; Restore also reads
	// it back, restores it into scratch space, and compares it with the cluster.
	// +optional
	Verify VerifyMode `json:"verify,omitempty"`
	// drill reads the newest snapshot back and restores it into scratch space on a schedule of its own.
	// +optional
	Drill *DrillPolicy `json:"drill,omitempty"`
	// deletionPolicy says what becomes of the snapshots when this EtcdBackup is deleted: Retain (the default) or
	// Delete, which removes what it wrote and nothing else.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// ttlSecondsAfterFinished after which a one-shot that is complete or has failed is deleted; deletionPolicy says
	// what becomes of its snapshot. Without it, it stays.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	Storage `json:",inline"`
}

// DefaultBackupTimeoutSeconds is the limit of one attempt where the spec has none.
const DefaultBackupTimeoutSeconds int64 = 600

// EtcdBackupStatus is what backup-operator did.
type EtcdBackupStatus struct {
	// observedGeneration is the generation that this status is about; -1 before the first look.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions: Ready, Complete (one-shot: the snapshot is proven), Failed (a person must act), Running, Stalled;
	// Verified where a snapshot was read back; Pruned where old snapshots are removed.
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
	// snapshots that are kept, the newest ten of them, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// progress of the running attempt; absent while none runs.
	// +optional
	Progress *BackupProgress `json:"progress,omitempty"`
	// lastDrill is the last time that a snapshot was read back and restored into scratch space.
	// +optional
	LastDrill *BackupDrill `json:"lastDrill,omitempty"`
	// nextDrillTime is when the next drill, or the next try at one, is due.
	// +optional
	NextDrillTime *metav1.Time `json:"nextDrillTime,omitempty"`
	// drillAttempts at the drill that is due which could not be carried out.
	// +optional
	DrillAttempts int32 `json:"drillAttempts,omitempty"`
	// handledRequest is the value of the annotation etcd.database.coreos.com/backup-now that was last satisfied.
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`
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

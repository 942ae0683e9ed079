package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup saves one snapshot of an etcd cluster, or a series of snapshots, to an object store.
//
// The operator streams each snapshot from one healthy voter and prefers one that is not the leader. It verifies the
// snapshot before the object appears in the store. Next to the object it writes a manifest, <key>.json, with the
// revision, the size and the SHA-256. Without compression and encryption the object is a plain file that etcdutl can
// restore.
//
// A single snapshot is stored at the path in the spec. With schedule or backupIntervalInSecond the EtcdBackup is a
// series, and the path is a folder. The keys are then <path>/<namespace>/<cluster>/<cluster ID>/<UTC
// time>-<revision>.db. Compressed or encrypted objects have the suffix .zst, .age or .zst.age.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackups,shortName=etcdbackup;etcdb,categories=etcd-operator
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.etcdCluster.name`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.backupPolicy.schedule`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.backupPolicy.suspend`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Newest",type=date,JSONPath=`.status.lastSuccessDate`,description="age of the newest snapshot"
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.snapshotSize`,description="size of the newest snapshot"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Complete",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Revision",type=integer,priority=1,JSONPath=`.status.etcdRevision`
// +kubebuilder:printcolumn:name="Progress",type=integer,priority=1,JSONPath=`.status.progress.percent`,description="progress of the running attempt in percent"
// +kubebuilder:printcolumn:name="Next",type=string,priority=1,JSONPath=`.status.nextTime`
// +kubebuilder:printcolumn:name="Verified",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
// +kubebuilder:printcolumn:name="Archiving",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Archiving")].reason`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.snapshot.path`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired snapshots.
	// +required
	Spec EtcdBackupSpec `json:"spec"`
	// Observed state of the snapshots. Only backup-operator writes it.
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

// EtcdBackupSpec describes what to save, where to and how often.
//
// +kubebuilder:validation:XValidation:rule="(has(self.etcdCluster) ? 1 : 0) + (has(self.etcdEndpoints) && self.etcdEndpoints.size() > 0 ? 1 : 0) == 1",message="exactly one source is required: write either etcdCluster.name (an EtcdCluster in this namespace) or etcdEndpoints (any other etcd)"
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || has(self.s3)",message="storageType S3 requires an s3 block: write s3.path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || has(self.gcs)",message="storageType GCS requires a gcs block: write gcs.path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || has(self.abs)",message="storageType ABS requires an abs block: write abs.path: \"<container>/<key>\""
// +kubebuilder:validation:XValidation:rule="!(self.storageType in ['S3', 'GCS', 'ABS', 'OSS']) || (self.storageType == 'S3' || !has(self.s3)) && (self.storageType == 'GCS' || !has(self.gcs)) && (self.storageType == 'ABS' || !has(self.abs)) && (self.storageType == 'OSS' || !has(self.oss))",message="only the block of the chosen storageType is allowed: remove the other storage blocks"
// +kubebuilder:validation:XValidation:rule="!has(self.ttlSecondsAfterFinished) || !has(self.backupPolicy) || (!has(self.backupPolicy.schedule) || self.backupPolicy.schedule.size() == 0) && (!has(self.backupPolicy.backupIntervalInSecond) || self.backupPolicy.backupIntervalInSecond == 0)",message="ttlSecondsAfterFinished cannot be used for a series, which never finishes: remove it, or remove schedule and backupIntervalInSecond"
// +kubebuilder:validation:XValidation:rule="!has(self.finalSnapshot) || !self.finalSnapshot || has(self.backupPolicy) && (has(self.backupPolicy.schedule) && self.backupPolicy.schedule.size() > 0 || has(self.backupPolicy.backupIntervalInSecond) && self.backupPolicy.backupIntervalInSecond > 0)",message="finalSnapshot requires a series: write backupPolicy.schedule or backupPolicy.backupIntervalInSecond, or remove finalSnapshot"
// +kubebuilder:validation:XValidation:rule="!has(self.copyTo) || has(self.backupPolicy) && (has(self.backupPolicy.schedule) && self.backupPolicy.schedule.size() > 0 || has(self.backupPolicy.backupIntervalInSecond) && self.backupPolicy.backupIntervalInSecond > 0)",message="copyTo requires a series: write backupPolicy.schedule or backupPolicy.backupIntervalInSecond, or remove copyTo and apply another EtcdBackup for the other location"
// +kubebuilder:validation:XValidation:rule="!has(self.finalSnapshot) || !self.finalSnapshot || !has(self.deletionPolicy) || self.deletionPolicy != 'Delete'",message="finalSnapshot and deletionPolicy Delete exclude each other, because Delete removes the final snapshot, too: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.continuous) || has(self.backupPolicy) && (has(self.backupPolicy.schedule) && self.backupPolicy.schedule.size() > 0 || has(self.backupPolicy.backupIntervalInSecond) && self.backupPolicy.backupIntervalInSecond > 0)",message="continuous requires a series: write backupPolicy.schedule or backupPolicy.backupIntervalInSecond, or remove continuous"
// +kubebuilder:validation:XValidation:rule="!has(self.continuous) || !has(self.s3) || !has(self.s3.checkBeforeWrite) || !self.s3.checkBeforeWrite",message="continuous requires a store with conditional writes, by which two archivers recognise each other: remove continuous, or remove s3.checkBeforeWrite"
type EtcdBackupSpec struct {
	// EtcdCluster to save, in the same namespace. The operator reads its endpoints and its TLS Secret from its status.
	// Write either this or etcdEndpoints.
	// +optional
	EtcdCluster *ClusterReference `json:"etcdCluster,omitempty"`
	// Client URLs of one etcd cluster, at most 32. Use them for an etcd that is not an EtcdCluster in this namespace.
	// Write either this or etcdCluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	EtcdEndpoints []string `json:"etcdEndpoints,omitempty"`
	// Name of the Secret for etcdEndpoints with TLS, with the keys etcd-client.crt, etcd-client.key and
	// etcd-client-ca.crt, or tls.crt, tls.key and ca.crt, as in Secrets of the type kubernetes.io/tls. It is ignored with etcdCluster. Default: no TLS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientTLSSecret string `json:"clientTLSSecret,omitempty"`
	// Name of the Secret with the user of etcdEndpoints if authentication is on there, with the keys username and
	// password. The user needs the role root. The password is sent only to endpoints with https:// if clientTLSSecret is
	// set, and to those that the key "endpoints" of the Secret lists. It is ignored with etcdCluster, whose status names
	// the Secret. Default: no user, or the common name of the client certificate.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientAuthSecret string `json:"clientAuthSecret,omitempty"`
	// Kind of object store: S3, GCS or ABS. The block of the same name, s3, gcs or abs, is required. OSS is accepted
	// for old manifests, and the status then reports StorageNotSupported.
	// +required
	StorageType StorageType `json:"storageType"`
	// Time limit of a snapshot, schedule of a series, and how many snapshots to keep.
	// +optional
	BackupPolicy *BackupPolicy `json:"backupPolicy,omitempty"`
	// Compression of the objects: zstd. A compressed object has to be decompressed before etcdutl can restore it; an
	// EtcdRestore does that by itself. Default: no compression.
	// +optional
	Compression Compression `json:"compression,omitempty"`
	// Encryption of the objects in the operator, before they are sent to the store. An EtcdRestore needs the matching
	// identity in its Secret. Default: no encryption by the operator.
	// +optional
	Encryption *Encryption `json:"encryption,omitempty"`
	// Signature of each snapshot, so that an EtcdRestore with the public key recognises one that was replaced in the bucket together with its
	// manifest. The continuous archive is not signed. Default: no signatures.
	// +optional
	Signing *Signing `json:"signing,omitempty"`
	// What to do if no member can reach a quorum. Refuse takes no snapshot. Mark takes one from the most advanced
	// voter, and marks it in the manifest and the status. Such a snapshot may lack acknowledged writes. Default:
	// Refuse.
	// +optional
	NoQuorum NoQuorumPolicy `json:"noQuorum,omitempty"`
	// How each snapshot is verified. Checksum checks the checksum and the structure before the object appears in the
	// store. Restore also reads the object back, restores it into scratch space and compares it with the cluster.
	// Default: Checksum.
	// +optional
	Verify VerifyMode `json:"verify,omitempty"`
	// Restore test of the newest snapshot on its own schedule: the operator reads the snapshot back from the store and
	// restores it into scratch space. Default: no restore tests.
	// +optional
	Drill *DrillPolicy `json:"drill,omitempty"`
	// What happens to the snapshots when this EtcdBackup is deleted. Retain keeps them. Delete removes the snapshots
	// that this EtcdBackup wrote, and nothing else. Default: Retain.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// Takes one more snapshot of a series when the EtcdBackup is deleted, if its cluster still serves. The EtcdBackup is
	// kept until then, for 10 minutes at most. Default: false.
	// +optional
	FinalSnapshot bool `json:"finalSnapshot,omitempty"`
	// Second location for the snapshots of a series. The operator copies each verified snapshot to it, byte for byte, and
	// applies maxBackups and retention there, too. It also copies the continuous archive, so that the second location is at
	// most twice maxLag behind. A location that fails does not delay the first one. Its path is a folder. Default: no copies.
	// +optional
	CopyTo *CopyTarget `json:"copyTo,omitempty"`
	// Continuous archive of a series: the operator stores every change of the cluster within seconds, beside the snapshots.
	// So the cluster can be restored as it was at any revision and any second of a window. It keeps all snapshots of the
	// window, too. Default: no archive.
	// +optional
	Continuous *ContinuousArchive `json:"continuous,omitempty"`
	// Seconds after which the EtcdBackup is deleted, counted from the end of its single snapshot. The field
	// deletionPolicy decides whether the object is removed from the store. A series cannot have this field. Default:
	// the EtcdBackup is kept.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`

	Storage `json:",inline"`
}

// DefaultBackupTimeoutSeconds is the time limit of one attempt if the spec has none.
const DefaultBackupTimeoutSeconds int64 = 600

// MaxBackupTimeoutSeconds is the longest time limit of one attempt, because an attempt holds a worker and space that others wait for.
const MaxBackupTimeoutSeconds int64 = 86400

// EtcdBackupStatus is the observed state of the snapshots.
type EtcdBackupStatus struct {
	// Generation of the spec that this status describes. It is -1 until the operator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions of the snapshots. Ready: see its reason in docs/operations.md. Complete: a single snapshot is stored
	// and verified. Failed: it ended without a snapshot. Running: a snapshot is being taken. Stalled: you have to act.
	// Verified: the result of reading the last snapshot back. Pruned: the result of removing old snapshots. Copied: whether
	// the second location has the newest snapshot. Archiving: whether the continuous archive has all changes.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Whether the last attempt succeeded.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Why the last attempt failed. It is empty after a success.
	// +optional
	Reason string `json:"Reason,omitempty"`
	// Version of the member that the newest snapshot was taken from.
	// +optional
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// Revision of the newest snapshot.
	// +optional
	EtcdRevision int64 `json:"etcdRevision,omitempty"`
	// Time at which the newest snapshot was verified.
	// +optional
	LastSuccessDate *metav1.Time `json:"lastSuccessDate,omitempty"`

	// Newest verified snapshot.
	// +optional
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// The store that has the newest verified snapshot: the provider, the endpoint and the region of the spec that it was saved with. If the
	// spec names another store now, the operator takes a snapshot at once.
	// +optional
	SnapshotStore string `json:"snapshotStore,omitempty"`
	// The ten newest snapshots that are kept, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Snapshots []Snapshot `json:"snapshots,omitempty"`
	// State of the second location. It is absent without copyTo.
	// +optional
	Copies *BackupCopies `json:"copies,omitempty"`
	// What the continuous archive can restore, oldest first, at most the 16 newest ranges. The end of the last one is
	// updated every few seconds while there are writes, and otherwise once a minute. It is absent without continuous. A range may contain a segment that the store lists but does not
	// return. Only an archive proof finds such a segment, and lastArchiveProof names it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Recoverable []RecoverableRange `json:"recoverable,omitempty"`
	// How far the cluster has handed its clients over to a standby. It is absent without a switchover.
	// +optional
	Switchover *SwitchoverStatus `json:"switchover,omitempty"`
	// Result of the last proof of the continuous archive. There is one after each snapshot of the series.
	// +optional
	LastArchiveProof *ArchiveProof `json:"lastArchiveProof,omitempty"`
	// Time at which the operator began to remove old snapshots of a suspended series.
	// +optional
	LastPruneTime *metav1.Time `json:"lastPruneTime,omitempty"`
	// Size of the newest snapshot with its unit, for example "1.2 GiB".
	// +optional
	SnapshotSize string `json:"snapshotSize,omitempty"`
	// Progress of the running attempt. It is absent if no attempt is running.
	// +optional
	Progress *BackupProgress `json:"progress,omitempty"`
	// Result of the last restore test.
	// +optional
	LastDrill *BackupDrill `json:"lastDrill,omitempty"`
	// Time of the next restore test, or of the next attempt at one.
	// +optional
	NextDrillTime *metav1.Time `json:"nextDrillTime,omitempty"`
	// Number of attempts at the current restore test that could not be carried out.
	// +optional
	DrillAttempts int32 `json:"drillAttempts,omitempty"`
	// Last value of the annotation etcd.database.coreos.com/backup-now for which a snapshot was taken.
	// +optional
	HandledRequest string `json:"handledRequest,omitempty"`
	// Number of attempts at the current snapshot, including failed ones.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// Start time of the last attempt.
	// +optional
	LastAttemptTime *metav1.Time `json:"lastAttemptTime,omitempty"`
	// Time of the next snapshot of a series, or of the next attempt at the current one.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

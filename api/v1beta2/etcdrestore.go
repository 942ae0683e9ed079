package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EtcdRestore restores a snapshot into an EtcdCluster in the same namespace.
//
// The operator verifies the snapshot before it changes anything. The old members serve until the first restored member
// answers. A restore runs once, and its spec cannot change. To try again, create an EtcdRestore with another name.
//
// If a cluster has several EtcdRestores, it runs them one at a time, oldest first. If you delete an EtcdRestore while
// a quorum of the old members runs, the operator undoes the restore. If you delete it later, the restore continues.
//
// The cluster remembers the last 20 restores that it carried out. It refuses an EtcdRestore with the same name and spec
// as one of them, for example one that a GitOps tool created again. To repeat a restore, set replaces.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,shortName=etcdrestore;etcdr,categories=etcd-operator
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.etcdCluster.name`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`
// +kubebuilder:printcolumn:name="Percent",type=integer,JSONPath=`.status.percent`,description="progress of the step in the column Status, in percent"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.snapshot.revision`
// +kubebuilder:printcolumn:name="Followed",type=integer,JSONPath=`.status.follow.revision`,description="last revision that a standby has of its source"
// +kubebuilder:printcolumn:name="Lag",type=integer,JSONPath=`.status.follow.lagSeconds`,description="seconds that a standby is behind the archive"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Path",type=string,priority=1,JSONPath=`.status.snapshot.path`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Desired restore. It cannot change, but for follow.promote: to try again, create an EtcdRestore with another name.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.etcdCluster == oldSelf.etcdCluster && has(self.backupStorageType) == has(oldSelf.backupStorageType) && (!has(self.backupStorageType) || self.backupStorageType == oldSelf.backupStorageType) && has(self.etcdBackup) == has(oldSelf.etcdBackup) && (!has(self.etcdBackup) || self.etcdBackup == oldSelf.etcdBackup) && has(self.select) == has(oldSelf.select) && (!has(self.select) || self.select == oldSelf.select) && has(self.ttlSecondsAfterFinished) == has(oldSelf.ttlSecondsAfterFinished) && (!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished == oldSelf.ttlSecondsAfterFinished) && has(self.revisionBump) == has(oldSelf.revisionBump) && (!has(self.revisionBump) || self.revisionBump == oldSelf.revisionBump) && has(self.replaces) == has(oldSelf.replaces) && (!has(self.replaces) || self.replaces == oldSelf.replaces) && has(self.dryRun) == has(oldSelf.dryRun) && (!has(self.dryRun) || self.dryRun == oldSelf.dryRun) && has(self.safetySnapshot) == has(oldSelf.safetySnapshot) && (!has(self.safetySnapshot) || self.safetySnapshot == oldSelf.safetySnapshot) && has(self.prefixes) == has(oldSelf.prefixes) && (!has(self.prefixes) || self.prefixes == oldSelf.prefixes) && has(self.prune) == has(oldSelf.prune) && (!has(self.prune) || self.prune == oldSelf.prune) && has(self.signing) == has(oldSelf.signing) && (!has(self.signing) || self.signing == oldSelf.signing) && has(self.s3) == has(oldSelf.s3) && (!has(self.s3) || self.s3 == oldSelf.s3) && has(self.gcs) == has(oldSelf.gcs) && (!has(self.gcs) || self.gcs == oldSelf.gcs) && has(self.abs) == has(oldSelf.abs) && (!has(self.abs) || self.abs == oldSelf.abs) && has(self.oss) == has(oldSelf.oss) && (!has(self.oss) || self.oss == oldSelf.oss) && has(self.volume) == has(oldSelf.volume) && (!has(self.volume) || self.volume == oldSelf.volume) && has(self.follow) == has(oldSelf.follow) && (!has(self.follow) || !has(oldSelf.follow.promote) || has(self.follow.promote) && (self.follow.promote == oldSelf.follow.promote || oldSelf.follow.promote == 'Planned'))",message="a restore runs once, so its spec cannot change, but for follow.promote, which can be set once, and changed from Planned to Now: delete this EtcdRestore, or create one with another name"
	Spec EtcdRestoreSpec `json:"spec"`
	// Observed state of the restore. Only restore-operator writes it.
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

// EtcdRestoreSpec names the snapshot to restore and the cluster to restore it into.
//
// +kubebuilder:validation:XValidation:rule="(has(self.backupStorageType) ? 1 : 0) + (has(self.etcdBackup) ? 1 : 0) + (has(self.volume) ? 1 : 0) == 1",message="exactly one source is required: write backupStorageType with its block (an object in a store), etcdBackup.name (a snapshot of that EtcdBackup) or volume.claimName (the data directory of an etcd)"
// +kubebuilder:validation:XValidation:rule="!has(self.volume) || !has(self.select) && !has(self.prefixes) && !has(self.follow) && !has(self.signing) && (!has(self.dryRun) || !self.dryRun)",message="only the first member of the restored cluster reads a volume, and it restores all of it: remove select, prefixes, follow, signing and dryRun"
// +kubebuilder:validation:XValidation:rule="!has(self.volume) || !has(self.safetySnapshot) || self.safetySnapshot != 'Exact'",message="safetySnapshot Exact needs the users of the snapshot before the seed reads it, and only the seed reads a volume: write Required, IfPossible or Skip"
// +kubebuilder:validation:XValidation:rule="!has(self.select) || !has(self.etcdBackup) || !has(self.etcdBackup.snapshot)",message="etcdBackup.snapshot names one snapshot and select chooses one: remove one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.backupStorageType) || self.backupStorageType != 'S3' || has(self.s3)",message="backupStorageType S3 requires an s3 block: write s3.path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="!has(self.backupStorageType) || self.backupStorageType != 'GCS' || has(self.gcs)",message="backupStorageType GCS requires a gcs block: write gcs.path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="!has(self.backupStorageType) || self.backupStorageType != 'ABS' || has(self.abs)",message="backupStorageType ABS requires an abs block: write abs.path: \"<container>/<key>\""
// +kubebuilder:validation:XValidation:rule="(has(self.backupStorageType) && !(self.backupStorageType in ['S3', 'GCS', 'ABS', 'OSS'])) || ((has(self.backupStorageType) && self.backupStorageType == 'S3') || !has(self.s3)) && ((has(self.backupStorageType) && self.backupStorageType == 'GCS') || !has(self.gcs)) && ((has(self.backupStorageType) && self.backupStorageType == 'ABS') || !has(self.abs)) && ((has(self.backupStorageType) && self.backupStorageType == 'OSS') || !has(self.oss))",message="only the block of the chosen backupStorageType is allowed: remove the other storage blocks"
// +kubebuilder:validation:XValidation:rule="(!has(self.s3) || !has(self.s3.storageClass) && !has(self.s3.objectLock) && !has(self.s3.tags)) && (!has(self.gcs) || !has(self.gcs.storageClass) && !has(self.gcs.kmsKeyName))",message="storageClass, objectLock, tags and kmsKeyName apply only to writing: move them to an EtcdBackup"
// +kubebuilder:validation:XValidation:rule="!has(self.signing) || !has(self.select) || !has(self.select.revision) && !has(self.select.time)",message="signing cannot be used with select.revision and select.time, because the continuous archive is not signed: remove signing, or write select.before for a snapshot"
// +kubebuilder:validation:XValidation:rule="!has(self.prune) || !self.prune || has(self.prefixes)",message="prune deletes keys below prefixes, so it requires prefixes: add them, or remove prune"
// +kubebuilder:validation:XValidation:rule="!has(self.prefixes) || !has(self.ttlSecondsAfterFinished) || has(self.dryRun) && self.dryRun",message="an EtcdRestore with prefixes is kept, because one that GitOps created again would overwrite newer keys: remove ttlSecondsAfterFinished, or set dryRun"
// +kubebuilder:validation:XValidation:rule="!has(self.prefixes) || !has(self.safetySnapshot) || self.safetySnapshot != 'Exact'",message="safetySnapshot Exact refuses the writes of clients, and a restore of prefixes does not: write Required, IfPossible or Skip"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || !has(self.prefixes) && !has(self.signing) && (!has(self.dryRun) || !self.dryRun)",message="follow keeps a whole cluster up to date from an archive, which is not signed: remove prefixes, signing and dryRun"
// +kubebuilder:validation:XValidation:rule="!has(self.follow) || (!has(self.etcdBackup) || !has(self.etcdBackup.snapshot)) && (!has(self.select) || !has(self.select.revision) && !has(self.select.time) && !has(self.select.before) && (!has(self.select.includeNoQuorum) || !self.select.includeNoQuorum))",message="follow begins with the newest snapshot and never ends at a point: remove etcdBackup.snapshot, select.revision, select.time, select.before and select.includeNoQuorum"
type EtcdRestoreSpec struct {
	// EtcdCluster to restore. If it does not exist, the restore waits for it, and the new cluster starts from the
	// snapshot.
	// +required
	EtcdCluster ClusterReference `json:"etcdCluster"`
	// Kind of object store: S3, GCS or ABS. The block of the same name, s3, gcs or abs, is required. OSS is accepted
	// for old manifests, and the status then reports StorageNotSupported. Write either this or etcdBackup.
	// +optional
	BackupStorageType StorageType `json:"backupStorageType,omitempty"`
	// EtcdBackup whose snapshot to restore. The restore uses its store and its Secret. Without etcdBackup.snapshot and
	// select, it restores the newest snapshot. Write either this or backupStorageType.
	// +optional
	EtcdBackup *BackupReference `json:"etcdBackup,omitempty"`
	// Volume with the data directory of an etcd that does not run, for example of a member whose EtcdCluster was deleted. The restored data also has the
	// writes that are only in the write-ahead log. The seed reads and verifies it while the old members serve. Their volumes are kept as after each restore, and
	// no safety snapshot is taken. Write either this, backupStorageType or etcdBackup.
	// +optional
	Volume *RestoreVolume `json:"volume,omitempty"`
	// Restores the newest snapshot that matches. An empty block matches every snapshot. With backupStorageType, the
	// path is then a folder, "<bucket>/<folder>". With etcdBackup, the operator searches the folder of its series.
	// Snapshots without a manifest, and those that failed a restore test, are ignored. If the folder holds snapshots of
	// several clusters, the restore fails with SnapshotAmbiguous. Clusters of one name with several EtcdCluster UIDs are
	// several clusters, unless one of them is the EtcdCluster to restore or that of the EtcdBackup. Default: the path names
	// one object.
	// +optional
	Select *SnapshotSelector `json:"select,omitempty"`
	// Seconds after which a complete EtcdRestore is deleted, and one with dryRun that has ended. Other failed ones are
	// kept. If GitOps created one again, it would replace the data of the cluster later. Default: the EtcdRestore is kept.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// Number added to the revision of the snapshot. If the cluster has had a higher revision than the snapshot, the
	// difference is added too. All revisions before the result are marked as compacted, so no watcher or cache can be
	// ahead of the restored data. If clients write more revisions during the restore, it fails. The value 0 turns all of this
	// off. Default: 1000000000.
	// +optional
	// +kubebuilder:default=1000000000
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000000000
	RevisionBump *int64 `json:"revisionBump,omitempty"`

	// ID of the etcd cluster that the restore may replace, 16 hex digits: the status.clusterID of the EtcdCluster. If the
	// cluster has another ID, the restore is refused. Set it to repeat a restore that was carried out before, or to carry
	// out one that is older than a restore that was. A new cluster, which has no ID yet, accepts any value. Default: any
	// cluster, but each restore only once, and none that is older than the last.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{16}$')",message="replaces must be 16 hex digits: copy it from status.clusterID of the EtcdCluster"
	Replaces string `json:"replaces,omitempty"`
	// Whether the operator only chooses and verifies the snapshot, reports the result with the reason DryRun, and changes
	// nothing. It checks the version and the volumes of the EtcdCluster too, if that exists. Default: false.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// Whether the restore of a formed cluster saves its present data into the store of the snapshot first. A restore from a volume saves it
	// into the store of the EtcdBackup of the cluster that has the newest snapshot. Skip saves nothing. IfPossible continues if that fails, for example without quorum. Required fails the restore then, and the
	// cluster is not changed. Exact does the same, and takes the snapshot while the members refuse writes, so that it has every write that
	// etcd acknowledged. Clients cannot write until it is taken, which the operator limits to 15 minutes. It needs etcd 3.6 and a quorum that answers. The
	// snapshot's path is in the status. Default: IfPossible.
	// +optional
	SafetySnapshot SafetySnapshotPolicy `json:"safetySnapshot,omitempty"`
	// Prefixes of the keys to restore. The cluster keeps running, and restore-operator writes only the keys below these prefixes as they are in the
	// snapshot or at the point. A key that a client has written since the comparison is not overwritten, and is reported. Keys that have a lease are left
	// as they are. A key that the snapshot does not have is kept, unless prune is true. With dryRun, the status says what would be written.
	// The revision of the cluster continues, so revisionBump has no effect. Default: the whole cluster is restored.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	Prefixes []string `json:"prefixes,omitempty"`
	// Whether keys below prefixes that the snapshot does not have are deleted. Default: false.
	// +optional
	Prune bool `json:"prune,omitempty"`
	// Keys of which one must have signed the snapshot. Otherwise nothing is restored, and the reason is SnapshotNotSigned or SignatureInvalid.
	// It cannot be used with select.revision and select.time. Default: no signature is required.
	// +optional
	Signing *SigningKeys `json:"signing,omitempty"`
	// Whether the EtcdCluster is a standby: it is filled from the newest snapshot, and then follows the continuous archive of that cluster until follow.promote is
	// set. It serves no client before that. It requires an EtcdCluster that has never formed, and a Secret with credentials or a serviceAccountName in spec.pod of the EtcdCluster. With
	// backupStorageType, the path is a folder. Default: the snapshot is restored once.
	// +optional
	Follow *FollowSpec `json:"follow,omitempty"`

	Storage `json:",inline"`
}

// SnapshotSelector matches snapshots. The newest match is restored. With revision or time, the cluster is restored as it was
// at that point, from a continuous archive.
//
// +kubebuilder:validation:XValidation:rule="(has(self.before) ? 1 : 0) + (has(self.revision) ? 1 : 0) + (has(self.time) ? 1 : 0) <= 1",message="before chooses a snapshot, and revision and time choose a point of the continuous archive: write only one of the three"
type SnapshotSelector struct {
	// Latest time of a matching snapshot, in RFC 3339. A matching snapshot holds no write after that time. Default: no
	// limit.
	// +optional
	Before *metav1.Time `json:"before,omitempty"`
	// Revision to restore. The operator takes the newest snapshot before it, and all later changes up to it from the
	// continuous archive. Several timelines may have the same revision: the newest one counts, or that of clusterID.
	// status.recoverable of the EtcdBackup has the possible values. Default: no revision.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision,omitempty"`
	// Time to restore, in RFC 3339, for example "2026-11-22T09:14:02Z". The operator restores the last revision that it had
	// received by then, with the continuous archive. The result has no change that was made later. status.recoverable of
	// the EtcdBackup has the possible values. Default: no time.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// ID of the etcd cluster that a matching snapshot was taken from, 16 hex digits. A cluster gets a new ID with each
	// restore. Default: any ID of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9a-f]{16}$')",message="clusterID must be 16 hex digits: copy it from status.clusterID of an EtcdCluster"
	ClusterID string `json:"clusterID,omitempty"`
	// Whether snapshots that were taken without quorum match, too. They may lack writes that etcd confirmed to clients.
	// Default: only snapshots that were taken with quorum match.
	// +optional
	IncludeNoQuorum bool `json:"includeNoQuorum,omitempty"`
}

// DefaultRevisionBump is added to the revision of a restored cluster if the spec has no other value. The documentation of
// etcd's disaster recovery uses the same number.
const DefaultRevisionBump int64 = 1_000_000_000

// EtcdRestoreStatus is the observed state of a restore.
type EtcdRestoreStatus struct {
	// Generation of the spec that this status describes. It is -1 until the operator has seen the object.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions of the restore. Ready: see its reason in docs/operations.md. Verified: the snapshot is verified.
	// Restoring: the cluster has started the restore. Complete: the cluster is restored. Failed: the restore ended
	// without a restored cluster. Following: a standby is up to date. Stalled: you have to act.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Whether the cluster serves the restored data at its full size.
	// +optional
	Succeeded bool `json:"succeeded"`
	// Why the restore did not succeed.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Progress of the step that the reason of Ready names, 0 to 100. While Verifying and Seeding it is the share of
	// bytes read. While Growing it is the share of members that serve.
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// Why the operator chose this snapshot. It is empty if the spec names the snapshot.
	// +optional
	Choice string `json:"choice,omitempty"`
	// Snapshot that was verified. cluster-operator starts a restore only if its Verified condition is True.
	// +optional
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// Point of the continuous archive that is restored. It is absent if a snapshot of the cluster is restored.
	// +optional
	PointInTime *PointInTimeStatus `json:"pointInTime,omitempty"`
	// Location of the verified object and how to reach it.
	// +optional
	Source *RestoreSource `json:"source,omitempty"`
	// Volume that the seed reads. It is absent without spec.volume.
	// +optional
	Volume *RestoreVolumeStatus `json:"volume,omitempty"`
	// How the seed reads the object, if restore-operator has read it with its own identity.
	// +optional
	SignedURL *SignedURLStatus `json:"signedURL,omitempty"`
	// Archive that the EtcdCluster follows, and how far it is. It is absent without spec.follow.
	// +optional
	Follow *RestoreFollowStatus `json:"follow,omitempty"`
	// Comparison of the keys below spec.prefixes. It is absent if the whole cluster is restored.
	// +optional
	Prefixes *PrefixesStatus `json:"prefixes,omitempty"`
	// Snapshot of the old cluster that the operator took just before the switch, or before it wrote keys below spec.prefixes.
	// +optional
	SafetySnapshot *SafetySnapshotStatus `json:"safetySnapshot,omitempty"`
	// Newest revision of the cluster before the restore that a continuous archive has in the store. It is absent if no EtcdBackup of the cluster
	// has an archive.
	// +optional
	ArchivedRevision int64 `json:"archivedRevision,omitempty"`
	// Number of revisions that the cluster before the restore acknowledged, and that neither the safety snapshot nor the archive has. It is absent
	// if the last revision is not known, because no quorum answered.
	// +optional
	UnsavedRevisions *int64 `json:"unsavedRevisions,omitempty"`
	// ID of the etcd cluster that was replaced, 16 hex digits. It is empty if there was none.
	// +optional
	ClusterIDBefore string `json:"clusterIDBefore,omitempty"`
	// ID of the restored etcd cluster, 16 hex digits.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`
	// Revision of the restored cluster when its first member was verified: the snapshot's revision plus revisionBump, or
	// more if the cluster had a higher revision.
	// +optional
	RestoredRevision int64 `json:"restoredRevision,omitempty"`
	// Number of attempts to read the snapshot, including failed ones.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// Time at which the attempt began whose result is not recorded yet. If restore-operator ends during the attempt, it counts as failed.
	// +optional
	LastAttemptTime *metav1.Time `json:"lastAttemptTime,omitempty"`
	// Time of the next attempt to read the snapshot, if restore-operator ended during the last one.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
	// Time at which restore-operator started the restore.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// Time at which the restore completed or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// PointInTimeStatus describes a point of a continuous archive. restore-operator has replayed the archive up to it, and has
// stored the result as the snapshot of the status.
type PointInTimeStatus struct {
	// Revision that the cluster had at this point.
	Revision int64 `json:"revision"`
	// Time at which backup-operator had received all changes up to that revision.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Number of the timeline.
	Timeline int64 `json:"timeline"`
	// Path of the snapshot that the replay began with.
	Base string `json:"base"`
	// Number of segments that were replayed after that snapshot.
	// +optional
	Segments int32 `json:"segments,omitempty"`
	// Time after this point at which the next change had been received, in milliseconds. A target within it restores this
	// point. It is absent if the spec has a revision.
	// +optional
	ResolutionMilliseconds int64 `json:"resolutionMilliseconds,omitempty"`
	// Number of leases whose TTL the archive does not have. They got a TTL of one hour.
	// +optional
	UnknownLeases int32 `json:"unknownLeases,omitempty"`
}

// SignedURLStatus is the signed URL that restore-operator hands to the seed. It permits to read one object for a limited
// time, so that the members need no rights on the bucket.
type SignedURLStatus struct {
	// Name of the Secret with the URL, in the namespace of the EtcdRestore. The operator deletes it when the restore ends.
	// It is empty if the operator could not sign a URL. The seed then reads as the ServiceAccount of the members.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// Time at which the URL expires.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
	// Time at which the operator replaces the URL by a new one, until the seed is complete.
	// +optional
	RenewalTime *metav1.Time `json:"renewalTime,omitempty"`
	// Why the operator could not sign or renew the URL.
	// +optional
	Message string `json:"message,omitempty"`
}

// Follows returns whether the EtcdRestore is that of a standby.
func (s EtcdRestoreSpec) Follows() bool { return s.Follow != nil }

// HasSource returns whether restore-operator has verified from where the cluster is filled.
func (s EtcdRestoreStatus) HasSource() bool {
	return s.Source != nil || s.Follow != nil || s.Volume != nil
}

// Filled returns whether the status says with what the cluster is filled: a snapshot that was verified, or a volume.
func (s EtcdRestoreStatus) Filled() bool {
	return s.Volume != nil || s.Snapshot != nil && s.HasSource()
}

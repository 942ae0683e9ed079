package v1beta2

// Condition types. All three kinds have Ready, so that kubectl wait, Helm, Flux (kstatus) and Argo CD treat them alike.
const (
	// ConditionReady means that the object matches its spec in full.
	ConditionReady = "Ready"
	// ConditionAvailable (EtcdCluster) means that a quorum of members serves clients.
	ConditionAvailable = "Available"
	// ConditionProgressing (EtcdCluster) means that the operator is changing something.
	ConditionProgressing = "Progressing"
	// ConditionDegraded (EtcdCluster) means that a member is missing or does not answer.
	ConditionDegraded = "Degraded"
	// ConditionReadOnly (EtcdCluster) means that etcd refuses all writes of clients, as spec.readOnly asks. It is absent if the spec
	// does not ask for that and writes are accepted.
	ConditionReadOnly = "ReadOnly"
	// ConditionStalled means that the operator cannot continue until the user acts; the message explains how.
	// kstatus reads it as Failed.
	ConditionStalled = "Stalled"
	// ConditionRunning (EtcdBackup) means that a snapshot is being taken.
	ConditionRunning = "Running"
	// ConditionVerified means that the snapshot of an EtcdRestore is verified. On an EtcdBackup it means that the last
	// snapshot that was read back from the store could be restored.
	ConditionVerified = "Verified"
	// ConditionPruned (EtcdBackup) means that all snapshots which maxBackups and retention do not keep are removed.
	ConditionPruned = "Pruned"
	// ConditionCopied (EtcdBackup) means that the second location has the newest snapshot.
	ConditionCopied = "Copied"
	// ConditionArchiving (EtcdBackup) means that the continuous archive has all changes of the cluster but those of the last
	// seconds.
	ConditionArchiving = "Archiving"
	// ConditionArchiveCopied (EtcdBackup) means that the second location has the continuous archive but for the changes of the last
	// seconds, and can restore it.
	ConditionArchiveCopied = "ArchiveCopied"
	// ConditionRestoring (EtcdRestore) means that the cluster has started the restore.
	ConditionRestoring = "Restoring"
	// ConditionFollowing (EtcdRestore) means that a standby has the archive but for the changes of the last 30 seconds.
	ConditionFollowing = "Following"
	// ConditionComplete (EtcdBackup, EtcdRestore) means that the work is done and verified.
	ConditionComplete = "Complete"
	// ConditionFailed (EtcdBackup, EtcdRestore) means that the work ended without success; the message explains what
	// to do.
	ConditionFailed = "Failed"
)

// Reasons of an EtcdCluster's conditions. docs/reasons-cluster.md has a heading for each.
const (
	// ReasonReady means that the cluster has the size, version and settings of its spec, and every member serves.
	ReasonReady = "Ready"
	// ReasonPaused means that spec.paused is true and the operator changes no member.
	ReasonPaused = "Paused"
	// ReasonDeleting means that the EtcdCluster is being deleted with its Pods, volumes and Services.
	ReasonDeleting = "Deleting"
	// ReasonCreating means that the first members are starting and the cluster has not formed yet.
	ReasonCreating = "Creating"
	// ReasonSettling means that the operator waits until a starting member serves before it changes anything else.
	ReasonSettling = "Settling"
	// ReasonScaling means that the operator adds or removes members, one at a time.
	ReasonScaling = "Scaling"
	// ReasonUpgrading means that the operator changes the version or the image of one member at a time.
	ReasonUpgrading = "Upgrading"
	// ReasonRolling means that the operator restarts one member at a time because the spec changed.
	ReasonRolling = "Rolling"
	// ReasonMemberDown means that a member does not serve.
	ReasonMemberDown = "MemberDown"
	// ReasonReplacingMember means that the operator removes a member that lost its data or failed for too long, and
	// adds a new one.
	ReasonReplacingMember = "ReplacingMember"
	// ReasonReplacementDelayed means that a lost member must be replaced, and the operator waits because it replaces lost
	// members of many other clusters.
	ReasonReplacementDelayed = "ReplacementDelayed"
	// ReasonQuorumLost means that the remaining members cannot form a quorum, so etcd accepts no writes.
	ReasonQuorumLost = "QuorumLost"
	// ReasonRecovering means that the operator rebuilds the cluster from one survivor of a lost quorum.
	ReasonRecovering = "Recovering"
	// ReasonNoStorageClass means that a member needs a volume and there is no default StorageClass.
	ReasonNoStorageClass = "NoStorageClass"
	// ReasonSecretMissing means that a Secret in the spec does not exist, lacks a key, or cannot be parsed.
	ReasonSecretMissing = "SecretMissing"
	// ReasonIssuingCertificates means that certificates are being issued, renewed or written into their Secrets.
	ReasonIssuingCertificates = "IssuingCertificates"
	// ReasonRotatingCertificates means that the CA of the certificates is being replaced.
	ReasonRotatingCertificates = "RotatingCertificates"
	// ReasonCertManagerMissing means that TLS.certManager is set and cert-manager is not installed, or the operator
	// may not use it.
	ReasonCertManagerMissing = "CertManagerMissing"
	// ReasonCertificateNotReady means that cert-manager has not issued a certificate.
	ReasonCertificateNotReady = "CertificateNotReady"
	// ReasonIssuerNotAllowed means that TLS.certManager names an issuer that the administrator of the operator does not allow.
	ReasonIssuerNotAllowed = "IssuerNotAllowed"
	// ReasonCertificateLacksName means that a certificate lacks the DNS name by which members recognise each other or their clients.
	ReasonCertificateLacksName = "CertificateLacksName"
	// ReasonTLSChangeNotSupported means that the spec asks for another kind of TLS than the members run with.
	ReasonTLSChangeNotSupported = "TLSChangeNotSupported"
	// ReasonImageUnavailable means that a node cannot pull the image of a member.
	ReasonImageUnavailable = "ImageUnavailable"
	// ReasonPodUnschedulable means that no node accepts the Pod of a member.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonPodRefused means that the API server or an admission webhook refuses the Pods that the spec asks for, so the
	// operator keeps those that run. If Ready is True, a member that is lost could not be replaced.
	ReasonPodRefused = "PodRefused"
	// ReasonPodFailing means that the container of a member keeps failing, or its Pod does not stop.
	ReasonPodFailing = "PodFailing"
	// ReasonRestoring means that an EtcdRestore is bringing a snapshot back into the cluster.
	ReasonRestoring = "Restoring"
	// ReasonWaitingForRestore means that a new cluster waits for the snapshot of its EtcdRestore before it starts.
	ReasonWaitingForRestore = "WaitingForRestore"
	// ReasonFollowerSilent means that the standby has not answered for 5 minutes.
	ReasonFollowerSilent = "FollowerSilent"
	// ReasonVersionNotSupported means that the version in the spec cannot be reached from the running one.
	ReasonVersionNotSupported = "VersionNotSupported"
	// ReasonVersionNotAdvised means that the cluster is ready, and runs a release of etcd that can damage data or that
	// this suite is not tested with.
	ReasonVersionNotAdvised = "VersionNotAdvised"
	// ReasonSettingIgnored means that a variable in spec.pod.etcdEnv does not do what it says, or that spec.networkPolicy has no
	// effect. The operator leaves the variable out, or the version of etcd does not have the option.
	ReasonSettingIgnored = "SettingIgnored"
	// ReasonNotOurs means that objects with the names or labels of the cluster do not belong to it.
	ReasonNotOurs = "NotOurs"
	// ReasonContradiction means that the status or the client Service contradicts what the members show.
	ReasonContradiction = "Contradiction"
	// ReasonAnotherVolume means that the PersistentVolumeClaim of a member is not the one that the member served on.
	ReasonAnotherVolume = "AnotherVolume"
	// ReasonSettingDropped means that this Kubernetes does not have a setting that the spec asks for.
	ReasonSettingDropped = "SettingDropped"
	// ReasonChangedByOthers means that something else reverses what the operator sets on a Service, a
	// PodDisruptionBudget, a NetworkPolicy, a Pod or a volume.
	ReasonChangedByOthers = "ChangedByOthers"
	// ReasonClockSkew means that the clock of the operator's node and that of the API server differ by more than a minute. Or a
	// certificate comes from a clock that is ahead.
	ReasonClockSkew = "ClockSkew"
	// ReasonCacheBehind means that the cache of the operator has been older than the API server for more than a minute.
	ReasonCacheBehind = "CacheBehind"
	// ReasonObjectRefused means that a policy, a quota or a limit of Kubernetes refuses an object that the operator writes.
	ReasonObjectRefused = "ObjectRefused"
	// ReasonRefusedByEtcd means that etcd has refused the same change of the cluster for more than a minute.
	ReasonRefusedByEtcd = "RefusedByEtcd"
	// ReasonWaitTooLong means that the operator has waited for the same thing for longer than its limit.
	ReasonWaitTooLong = "WaitTooLong"
	// ReasonReconcileError means that a call to Kubernetes or etcd failed and is retried.
	ReasonReconcileError = "ReconcileError"
	// ReasonHibernating means that spec.hibernate is true and the members are stopping.
	ReasonHibernating = "Hibernating"
	// ReasonReadOnly means that the cluster is ready, and etcd refuses all writes of clients because spec.readOnly is true.
	ReasonReadOnly = "ReadOnly"
	// ReasonReadOnlyNotSupported means that spec.readOnly is true, and members run an etcd in which the refusal of writes does not
	// hold.
	ReasonReadOnlyNotSupported = "ReadOnlyNotSupported"
	// ReasonChangingAccounts means that the operator changes users and roles in etcd, as spec.auth asks.
	ReasonChangingAccounts = "ChangingAccounts"
	// ReasonAccountsNotChanged means that etcd does not have all users and roles of spec.auth, and that a person must act.
	ReasonAccountsNotChanged = "AccountsNotChanged"
	// ReasonHibernated means that spec.hibernate is true and no member runs.
	ReasonHibernated = "Hibernated"
	// ReasonMembersUnreachable means that no member answers the operator, while the Pods of a quorum are ready.
	ReasonMembersUnreachable = "MembersUnreachable"
	// ReasonEtcdAccessDenied means that authentication is on in etcd, and it refuses the operator.
	ReasonEtcdAccessDenied = "EtcdAccessDenied"
	// ReasonForeignMember means that the membership has a member that the operator did not add.
	ReasonForeignMember = "ForeignMember"
	// ReasonRequestRefused means that an annotation asks for something that could leave no quorum.
	ReasonRequestRefused = "RequestRefused"
	// ReasonLearnerTooSlow means that several new members in a row did not start, or did not catch up with the leader.
	ReasonLearnerTooSlow = "LearnerTooSlow"
	// ReasonResizingPod means that CPU and memory of running Pods change to what the spec asks for.
	ReasonResizingPod = "ResizingPod"
	// ReasonResizingVolume means that the members' volumes grow to the size in the spec.
	ReasonResizingVolume = "ResizingVolume"
	// ReasonVolumeCannotGrow means that the StorageClass or its driver refuses to grow a volume.
	ReasonVolumeCannotGrow = "VolumeCannotGrow"
	// ReasonVolumeMayFill means that the cluster is ready, and a member's volume can become full.
	ReasonVolumeMayFill = "VolumeMayFill"
	// ReasonNoSpace means that a member has used up its space quota, so etcd refuses writes.
	ReasonNoSpace = "NoSpace"
	// ReasonDefragmenting means that a member is being defragmented. It does not answer until that is done.
	ReasonDefragmenting = "Defragmenting"
	// ReasonDataCorrupt means that etcd has raised a CORRUPT alarm because the data of a member differs.
	ReasonDataCorrupt = "DataCorrupt"
)

// Reasons of an EtcdBackup's and an EtcdRestore's conditions. docs/reasons-backup-restore.md has a heading for each.
const (
	// ReasonPending means that the work has not started yet.
	ReasonPending = "Pending"
	// ReasonRunning means that a snapshot is being taken.
	ReasonRunning = "Running"
	// ReasonScheduled means that the newest snapshot of a series is verified and the next one is due later.
	ReasonScheduled = "Scheduled"
	// ReasonSuspended means that backupPolicy.suspend is true and no snapshots are taken.
	ReasonSuspended = "Suspended"
	// ReasonPruned means that all snapshots which no rule keeps are removed.
	ReasonPruned = "Pruned"
	// ReasonSnapshotsKept means that the operator keeps snapshots which no rule keeps, because deleting them is not safe.
	ReasonSnapshotsKept = "SnapshotsKept"
	// ReasonCopied means that the second location has all snapshots that it keeps.
	ReasonCopied = "Copied"
	// ReasonCopying means that snapshots are being copied to the second location.
	ReasonCopying = "Copying"
	// ReasonArchiving means that every change reaches the continuous archive in time.
	ReasonArchiving = "Archiving"
	// ReasonArchiveStarting means that the continuous archive waits for its first snapshot, or reads where it ended.
	ReasonArchiveStarting = "ArchiveStarting"
	// ReasonArchiveDelayed means that changes wait for the store for longer than continuous.maxLag.
	ReasonArchiveDelayed = "ArchiveDelayed"
	// ReasonArchiveIncomplete means that the newest changes cannot be restored before the next snapshot.
	ReasonArchiveIncomplete = "ArchiveIncomplete"
	// ReasonArchiveFenced means that another archiver writes the same continuous archive.
	ReasonArchiveFenced = "ArchiveFenced"
	// ReasonArchiveCorrupt means that an object of the continuous archive is damaged or missing. On an EtcdRestore it means that
	// the archive up to the chosen point cannot be replayed.
	ReasonArchiveCorrupt = "ArchiveCorrupt"
	// ReasonArchiveNotSupported means that the version of etcd cannot be archived.
	ReasonArchiveNotSupported = "ArchiveNotSupported"
	// ReasonArchiveStopped means that spec.continuous was removed or the spec is invalid, and the archive is still in the store.
	ReasonArchiveStopped = "ArchiveStopped"
	// ReasonRemovingSnapshots means that the snapshots of a deleted EtcdBackup with deletionPolicy Delete are being
	// removed.
	ReasonRemovingSnapshots = "RemovingSnapshots"
	// ReasonComplete means that the snapshot is stored and verified, or the cluster serves the restored data at full
	// size.
	ReasonComplete = "Complete"
	// ReasonRetrying means that an attempt failed for a cause without a reason of its own, and another one follows.
	ReasonRetrying = "Retrying"
	// ReasonInvalidSpec means that the spec cannot work although the API accepted it.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonStorageNotSupported means that the storage type is not S3, GCS or ABS. OSS is accepted for old manifests only.
	ReasonStorageNotSupported = "StorageNotSupported"
	// ReasonClusterNotFound means that the EtcdCluster to save does not exist in this namespace.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotAvailable means that the etcd cluster does not serve, so no snapshot can be taken.
	ReasonClusterNotAvailable = "ClusterNotAvailable"
	// ReasonEndpointUnreachable means that none of the etcd endpoints answered.
	ReasonEndpointUnreachable = "EndpointUnreachable"
	// ReasonStoreUnreachable means that nothing answers at the endpoint of the object store, or with an answer that cannot be read.
	ReasonStoreUnreachable = "StoreUnreachable"
	// ReasonStoreUnavailable means that the object store, or a proxy before it, answers that it cannot serve requests now.
	ReasonStoreUnavailable = "StoreUnavailable"
	// ReasonStoreNotCapable means that the object store lacks a function that the operator needs, such as conditional writes.
	ReasonStoreNotCapable = "StoreNotCapable"
	// ReasonRequestTooLarge means that the object store, or a proxy before it, refuses requests of that size.
	ReasonRequestTooLarge = "RequestTooLarge"
	// ReasonWrongRegion means that the bucket is in another region, or that the store has another one.
	ReasonWrongRegion = "WrongRegion"
	// ReasonNotAStore means that something else than an object store answers at the endpoint.
	ReasonNotAStore = "NotAStore"
	// ReasonListingTooLong means that a listing of the object store has more names than the operator follows or holds in memory.
	ReasonListingTooLong = "ListingTooLong"
	// ReasonAccessDenied means that the object store refused the credentials.
	ReasonAccessDenied = "AccessDenied"
	// ReasonOwnIdentityNotAllowed means that the values of the chart do not let the namespace use the operator's own identity for the path.
	ReasonOwnIdentityNotAllowed = "OwnIdentityNotAllowed"
	// ReasonPathNotAllowed means that the values of the chart do not let the namespace use the path, even with a Secret.
	ReasonPathNotAllowed = "PathNotAllowed"
	// ReasonBucketNotFound means that the bucket does not exist at the endpoint or in the region.
	ReasonBucketNotFound = "BucketNotFound"
	// ReasonSpoolTooSmall means that a snapshot or its restore test does not fit into the spool volume of backup-operator or
	// restore-operator.
	ReasonSpoolTooSmall = "SpoolTooSmall"
	// ReasonSnapshotTooLarge means that a snapshot has more bytes than the spool volume can hold, although its store states fewer. Or
	// its check needs more memory than the operator may use.
	ReasonSnapshotTooLarge = "SnapshotTooLarge"
	// ReasonRestoreTestTooLarge means that a restore test needs more memory than backup-operator gives it.
	ReasonRestoreTestTooLarge = "RestoreTestTooLarge"
	// ReasonObjectExists means that another object already exists at the path of a single snapshot.
	ReasonObjectExists = "ObjectExists"
	// ReasonObjectNotFound means that no object exists at the path of an EtcdRestore.
	ReasonObjectNotFound = "ObjectNotFound"
	// ReasonSnapshotChanged means that the object in the bucket is not the one that the EtcdBackup saved.
	ReasonSnapshotChanged = "SnapshotChanged"
	// ReasonSnapshotNotSigned means that a signature is required, and the snapshot has none.
	ReasonSnapshotNotSigned = "SnapshotNotSigned"
	// ReasonSignatureInvalid means that none of the given keys has signed the snapshot as it is in the bucket.
	ReasonSignatureInvalid = "SignatureInvalid"
	// ReasonSnapshotCorrupt means that the snapshot failed a check.
	ReasonSnapshotCorrupt = "SnapshotCorrupt"
	// ReasonSnapshotTooNew means that a newer minor version of etcd wrote the snapshot than the cluster is to run.
	ReasonSnapshotTooNew = "SnapshotTooNew"
	// ReasonBackupNotFound means that the EtcdBackup in the spec does not exist in this namespace.
	ReasonBackupNotFound = "BackupNotFound"
	// ReasonClaimNotFound means that the PersistentVolumeClaim in spec.volume does not exist in this namespace, or has lost its volume.
	ReasonClaimNotFound = "ClaimNotFound"
	// ReasonClaimInUse means that a Pod uses the PersistentVolumeClaim in spec.volume, or that it is the volume of a member.
	ReasonClaimInUse = "ClaimInUse"
	// ReasonDeadlineExceeded means that an attempt took longer than backupPolicy.timeoutInSecond, or restore-operator needed
	// too long to read a snapshot.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonTransferTooSlow means that the bytes of a snapshot moved more slowly than the minimum.
	ReasonTransferTooSlow = "TransferTooSlow"
	// ReasonVerifying means that a snapshot is being read from the store and verified.
	ReasonVerifying = "Verifying"
	// ReasonVerified means that a snapshot is verified.
	ReasonVerified = "Verified"
	// ReasonNotStarted means that the snapshot is verified, and the EtcdCluster does not start the restore until a person acts.
	ReasonNotStarted = "NotStarted"
	// ReasonWaitingForCluster means that the snapshot is verified and the EtcdCluster does not exist yet.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonSeeding means that the first member of the restored cluster is being filled while the old members serve.
	ReasonSeeding = "Seeding"
	// ReasonFollowing means that a standby follows the continuous archive of another cluster until it is promoted.
	ReasonFollowing = "Following"
	// ReasonFollowingBehind means that a standby is more than 30 seconds behind the continuous archive.
	ReasonFollowingBehind = "FollowingBehind"
	// ReasonFollowingBroken means that a standby cannot follow the continuous archive until there is a newer snapshot.
	ReasonFollowingBroken = "FollowingBroken"
	// ReasonFollowNeedsCredentials means that a standby has neither a Secret with credentials nor a ServiceAccount.
	ReasonFollowNeedsCredentials = "FollowNeedsCredentials"
	// ReasonSwitching means that the old members stop and the client Service changes to the restored member.
	ReasonSwitching = "Switching"
	// ReasonGrowing means that the restored data is served and members are being added.
	ReasonGrowing = "Growing"
	// ReasonSeedFailed means that the first restored member failed and the old cluster serves as before.
	ReasonSeedFailed = "SeedFailed"
	// ReasonQueued means that another EtcdRestore of the same cluster runs first, or restore-operator reads the snapshots of
	// other EtcdRestores.
	ReasonQueued = "Queued"
	// ReasonDryRun means that the snapshot is verified, and nothing was changed because spec.dryRun is true.
	ReasonDryRun = "DryRun"
	// ReasonRestoringKeys means that restore-operator writes keys of a snapshot into the running EtcdCluster.
	ReasonRestoringKeys = "RestoringKeys"
	// ReasonRestoreRefused means that the restore was carried out before, or spec.replaces names another cluster ID.
	ReasonRestoreRefused = "RestoreRefused"
	// ReasonVolumeTooSmall means that the members' volumes are smaller than twice the snapshot.
	ReasonVolumeTooSmall = "VolumeTooSmall"
	// ReasonPointNotRecoverable means that the continuous archive does not reach the revision or the time of an EtcdRestore.
	ReasonPointNotRecoverable = "PointNotRecoverable"
	// ReasonReplayTooLarge means that a replay needs more memory than restore-operator gives it.
	ReasonReplayTooLarge = "ReplayTooLarge"
	// ReasonSnapshotAmbiguous means that the folder holds snapshots of more than one cluster.
	ReasonSnapshotAmbiguous = "SnapshotAmbiguous"
)

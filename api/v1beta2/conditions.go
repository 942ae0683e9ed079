package v1beta2

// Condition types. Ready is on all three kinds, so that kubectl wait, Helm, Flux (kstatus) and Argo CD judge
// them alike.
const (
	// ConditionReady: the object is as its spec asks, in full.
	ConditionReady = "Ready"
	// ConditionAvailable (EtcdCluster): a quorum of members serves clients.
	ConditionAvailable = "Available"
	// ConditionProgressing (EtcdCluster): the operator is changing something.
	ConditionProgressing = "Progressing"
	// ConditionDegraded (EtcdCluster): a member is missing or does not answer.
	ConditionDegraded = "Degraded"
	// ConditionStalled: nothing goes on until a person acts; the message says how. kstatus reads it as Failed.
	ConditionStalled = "Stalled"
	// ConditionRunning (EtcdBackup): a snapshot is being taken.
	ConditionRunning = "Running"
	// ConditionVerified (EtcdRestore): the snapshot was read once and is proven. (EtcdBackup): the last snapshot that
	// was read back from the store could be restored.
	ConditionVerified = "Verified"
	// ConditionPruned (EtcdBackup): what maxBackups and retention do not keep is removed.
	ConditionPruned = "Pruned"
	// ConditionRestoring (EtcdRestore): the cluster has taken the restore up.
	ConditionRestoring = "Restoring"
	// ConditionComplete (EtcdBackup, EtcdRestore): done, and proven.
	ConditionComplete = "Complete"
	// ConditionFailed (EtcdBackup, EtcdRestore): over without success; the message says what to do.
	ConditionFailed = "Failed"
)

// Reasons of an EtcdCluster's conditions. docs/operations.md has a heading for each.
const (
	ReasonReady                 = "Ready"
	ReasonPaused                = "Paused"
	ReasonDeleting              = "Deleting"
	ReasonCreating              = "Creating"
	ReasonSettling              = "Settling"
	ReasonScaling               = "Scaling"
	ReasonUpgrading             = "Upgrading"
	ReasonRolling               = "Rolling"
	ReasonMemberDown            = "MemberDown"
	ReasonReplacingMember       = "ReplacingMember"
	ReasonQuorumLost            = "QuorumLost"
	ReasonRecovering            = "Recovering"
	ReasonNoStorageClass        = "NoStorageClass"
	ReasonSecretMissing         = "SecretMissing"
	ReasonIssuingCertificates   = "IssuingCertificates"
	ReasonRotatingCertificates  = "RotatingCertificates"
	ReasonCertManagerMissing    = "CertManagerMissing"
	ReasonCertificateNotReady   = "CertificateNotReady"
	ReasonTLSChangeNotSupported = "TLSChangeNotSupported"
	ReasonImageUnavailable      = "ImageUnavailable"
	ReasonPodUnschedulable      = "PodUnschedulable"
	ReasonPodFailing            = "PodFailing"
	ReasonRestoring             = "Restoring"
	ReasonWaitingForRestore     = "WaitingForRestore"
	ReasonVersionNotSupported   = "VersionNotSupported"
	ReasonNotOurs               = "NotOurs"
	ReasonReconcileError        = "ReconcileError"
	ReasonHibernating           = "Hibernating"
	ReasonHibernated            = "Hibernated"
	ReasonResizingVolume        = "ResizingVolume"
	ReasonVolumeCannotGrow      = "VolumeCannotGrow"
	ReasonNoSpace               = "NoSpace"
	ReasonDefragmenting         = "Defragmenting"
	ReasonDataCorrupt           = "DataCorrupt"
)

// Reasons of an EtcdBackup's and an EtcdRestore's conditions. docs/operations.md has a heading for each.
const (
	ReasonPending             = "Pending"
	ReasonRunning             = "Running"
	ReasonScheduled           = "Scheduled"
	ReasonSuspended           = "Suspended"
	ReasonPruned              = "Pruned"
	ReasonRemovingSnapshots   = "RemovingSnapshots"
	ReasonComplete            = "Complete"
	ReasonRetrying            = "Retrying"
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonStorageNotSupported = "StorageNotSupported"
	ReasonClusterNotFound     = "ClusterNotFound"
	ReasonClusterNotAvailable = "ClusterNotAvailable"
	ReasonEndpointUnreachable = "EndpointUnreachable"
	ReasonStoreUnreachable    = "StoreUnreachable"
	ReasonAccessDenied        = "AccessDenied"
	ReasonBucketNotFound      = "BucketNotFound"
	ReasonObjectExists        = "ObjectExists"
	ReasonObjectNotFound      = "ObjectNotFound"
	ReasonSnapshotCorrupt     = "SnapshotCorrupt"
	ReasonSnapshotTooNew      = "SnapshotTooNew"
	ReasonBackupNotFound      = "BackupNotFound"
	ReasonDeadlineExceeded    = "DeadlineExceeded"
	ReasonVerifying           = "Verifying"
	ReasonVerified            = "Verified"
	ReasonWaitingForCluster   = "WaitingForCluster"
	ReasonSeeding             = "Seeding"
	ReasonSwitching           = "Switching"
	ReasonGrowing             = "Growing"
	ReasonSeedFailed          = "SeedFailed"
	ReasonQueued              = "Queued"
	ReasonVolumeTooSmall      = "VolumeTooSmall"
	ReasonSnapshotAmbiguous   = "SnapshotAmbiguous"
)

package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnnotationBackupNow on a series requests a snapshot at once, independent of the schedule and of suspend. Each new value
// requests one snapshot.
const AnnotationBackupNow = Group + "/backup-now"

// FinalizerSnapshots delays the deletion of an EtcdBackup until its snapshots are removed (deletionPolicy Delete), or until
// one more snapshot is taken (finalSnapshot).
const FinalizerSnapshots = Group + "/snapshots"

// BackupPolicy decides when snapshots are taken and which ones are kept. The fields timeoutInSecond,
// backupIntervalInSecond and maxBackups come from coreos/etcd-operator.
//
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.size() == 0 || !has(self.backupIntervalInSecond) || self.backupIntervalInSecond == 0",message="schedule and backupIntervalInSecond exclude each other: remove one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone.size() == 0 || has(self.schedule) && self.schedule.size() > 0",message="timeZone requires schedule: write schedule too, or remove timeZone"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || !self.schedule.contains('=')",message="schedule cannot contain a time zone: write it in timeZone instead"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || !self.schedule.startsWith('@every')",message="schedule does not support @every: write backupIntervalInSecond instead"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.size() == 0 || self.schedule.contains('=') || self.schedule.startsWith('@every') || self.schedule.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9A-Za-z*?/,-]+ +[0-9A-Za-z*?/,-]+)$')",message="schedule is not valid: write five fields (minute, hour, day of the month, month, day of the week 0-6), such as \"0 3 * * *\", or one of @hourly, @daily, @weekly, @monthly, @yearly"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone != 'Local'",message="timeZone Local is not allowed, because it depends on the node: write an IANA name, such as Europe/Berlin"
type BackupPolicy struct {
	// Time limit of one attempt at a snapshot, in seconds. After that the attempt fails with DeadlineExceeded, and the
	// next one follows. The maximum is 86400, a day. An object with more keeps its value until it is changed, and its attempts
	// end after a day. The value 0 means the default. Default: 600.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self <= 86400 || oldSelf.hasValue() && oldSelf.value() == self",optionalOldSelf=true,message="timeoutInSecond is longer than a day: write at most 86400"
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`
	// Seconds between two snapshots of a series. The value 0 means a single snapshot, unless schedule is set. Default:
	// 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`
	// Number of snapshots of a series to keep, counted from the newest. If retention is set, too, a snapshot is kept
	// if either of the two keeps it. The value 0 without retention keeps all. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBackups int `json:"maxBackups,omitempty"`

	// Schedule of a series in cron format. The five fields are minute, hour, day of the month, month and day of the
	// week (0-6). Example: "0 3 * * *". The names @hourly, @daily, @weekly, @monthly and @yearly are allowed, too. After any number of
	// missed runs the operator takes one snapshot. Default: no schedule.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule,omitempty"`
	// IANA name of the time zone of schedule and of the days, weeks and months of retention, for example
	// Europe/Berlin. It requires schedule. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-/]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// Takes the first snapshot of a series at once, and not at the first time of schedule. A series with
	// backupIntervalInSecond always does. Default: false.
	// +optional
	Immediate bool `json:"immediate,omitempty"`
	// Limit of the bytes per second that an attempt reads from etcd and sends to the store. etcd keeps old pages of
	// its database until it has sent the snapshot, so a low limit lets the database grow. Raise timeoutInSecond to
	// match. The value 0 means no limit. Default: 0.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == 0 || self >= 1048576",message="maxBytesPerSecond is too low for any snapshot: write at least 1048576, or 0 for no limit"
	// +kubebuilder:validation:Minimum=0
	MaxBytesPerSecond int64 `json:"maxBytesPerSecond,omitempty"`
	// Stops the running attempt and starts no new ones. The annotation etcd.database.coreos.com/backup-now still takes
	// a snapshot. Old snapshots are removed as before, at most once an hour. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// Seconds by which a missed run may start late. After that the run is skipped. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// Rules for keeping snapshots of a series. A snapshot is kept if any rule keeps it. The operator removes
	// those that no rule keeps after each snapshot, but never the newest one. While the series is suspended, it does so at
	// most once an hour. Hours, days, weeks and months are those of timeZone. Default: maxBackups alone decides.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
}

// Retention holds the rules for keeping snapshots of a series.
type Retention struct {
	// Keeps all snapshots up to this age: numbers with the units w (weeks), d (days), h, m (minutes) and s, for
	// example "2w" or "1d12h". Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}[wdhms])*$`
	KeepWithin string `json:"keepWithin,omitempty"`
	// Keeps the newest snapshot of each of the last N hours that have one. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepHourly int `json:"keepHourly,omitempty"`
	// Keeps the newest snapshot of each of the last N days that have one. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepDaily int `json:"keepDaily,omitempty"`
	// Keeps the newest snapshot of each of the last N weeks, starting on Monday, that have one. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepWeekly int `json:"keepWeekly,omitempty"`
	// Keeps the newest snapshot of each of the last N months that have one. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepMonthly int `json:"keepMonthly,omitempty"`
}

// NoQuorumPolicy decides what to do if no member can reach a quorum.
//
// +kubebuilder:validation:Enum=Refuse;Mark
type NoQuorumPolicy string

// Refuse takes no snapshot without a quorum. Mark takes one from the most advanced voter and marks it.
const (
	NoQuorumRefuse NoQuorumPolicy = "Refuse"
	NoQuorumMark   NoQuorumPolicy = "Mark"
)

// DeletionPolicy decides what happens to the snapshots when the EtcdBackup is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// Retain keeps the snapshots, Delete removes them with their EtcdBackup.
const (
	DeletionRetain DeletionPolicy = "Retain"
	DeletionDelete DeletionPolicy = "Delete"
)

// VerifyMode is the way in which a snapshot is verified.
//
// +kubebuilder:validation:Enum=Checksum;Restore
type VerifyMode string

// Checksum checks the checksum and the structure of a snapshot before its object appears. Restore also reads the object
// back, restores it into scratch space and compares it with the cluster.
const (
	VerifyChecksum VerifyMode = "Checksum"
	VerifyRestore  VerifyMode = "Restore"
)

// DrillPolicy is the schedule of restore tests.
//
// +kubebuilder:validation:XValidation:rule="self.schedule.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9A-Za-z*?/,-]+ +[0-9A-Za-z*?/,-]+)$')",message="schedule is not valid: write five fields (minute, hour, day of the month, month, day of the week 0-6), such as \"0 3 * * *\", or one of @hourly, @daily, @weekly, @monthly, @yearly"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone != 'Local'",message="timeZone Local is not allowed, because it depends on the node: write an IANA name, such as Europe/Berlin"
type DrillPolicy struct {
	// Schedule of the restore tests in cron format, for example "0 3 * * 0", or one of @hourly, @daily, @weekly,
	// @monthly, @yearly. After any number of missed tests the operator runs one.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// IANA name of the time zone of schedule, for example Europe/Berlin. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-/]*$`
	TimeZone string `json:"timeZone,omitempty"`
}

// BackupProgress is the progress of the running attempt.
type BackupProgress struct {
	// Current stage in words, for example "streaming from http://10.0.0.1:2379".
	// +optional
	Stage string `json:"stage,omitempty"`
	// Bytes processed in this stage.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// Bytes expected in this stage. It is 0 if the number is unknown.
	// +optional
	TotalBytes int64 `json:"totalBytes,omitempty"`
	// Share of totalBytes that is processed, in percent. It is at most 99 while the attempt is running.
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// Average speed since the stage began, in bytes per second.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
}

// BackupDrill is the result of one restore test: the snapshot was read back from the store and restored into scratch
// space.
type BackupDrill struct {
	// Location of the snapshot, "<bucket>/<key>".
	Path string `json:"path"`
	// Result of the test: Passed or Failed.
	Result DrillResult `json:"result"`
	// Time at which the test ended.
	Time metav1.Time `json:"time"`
	// Revision of the restored data.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// Whether the hash of all keys and values equals that of the running cluster at the same revision. It is false if
	// the cluster has compacted that revision or does not answer.
	// +optional
	Compared bool `json:"compared,omitempty"`
	// What the test found.
	// +optional
	Message string `json:"message,omitempty"`
}

// CopyTarget is a second location for the snapshots of a series.
//
// +kubebuilder:validation:XValidation:rule="self.storageType != 'S3' || has(self.s3)",message="storageType S3 requires an s3 block: write copyTo.s3.path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="self.storageType != 'GCS' || has(self.gcs)",message="storageType GCS requires a gcs block: write copyTo.gcs.path: \"<bucket>/<key>\""
// +kubebuilder:validation:XValidation:rule="self.storageType != 'ABS' || has(self.abs)",message="storageType ABS requires an abs block: write copyTo.abs.path: \"<container>/<key>\""
type CopyTarget struct {
	// Kind of object store: S3, GCS or ABS. The block of the same name, s3, gcs or abs, is required.
	// +required
	StorageType StorageType `json:"storageType"`

	Storage `json:",inline"`
}

// BackupCopies is the state of the second location.
type BackupCopies struct {
	// Newest snapshot that is in the second location, with its path there.
	// +optional
	Newest *Snapshot `json:"newest,omitempty"`
	// Number of snapshots that were missing in the second location after the last attempt, although it would keep them.
	// +optional
	Missing int32 `json:"missing,omitempty"`
	// Time by which the newest copy is behind the newest snapshot, in seconds. It is 0 if the newest snapshot is copied.
	// +optional
	LagSeconds int64 `json:"lagSeconds,omitempty"`
	// Number of attempts since the last success, including the running one. It is 0 after a success.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// Start time of the last attempt.
	// +optional
	LastAttemptTime *metav1.Time `json:"lastAttemptTime,omitempty"`
	// Time of the next attempt after a failed one.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
	// Generation of the spec that the last attempt was made for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// What the copy of the continuous archive in the second location can restore, oldest first, at most the 16 newest ranges. The
	// end of the last one is updated once a minute. It is absent without continuous.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Recoverable []RecoverableRange `json:"recoverable,omitempty"`
}

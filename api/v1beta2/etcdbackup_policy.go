package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AnnotationBackupNow on an EtcdBackup that is a series asks for a snapshot at once, whatever the schedule says and
// also while it is suspended. Each new value is one snapshot.
const AnnotationBackupNow = Group + "/backup-now"

// FinalizerSnapshots holds an EtcdBackup with deletionPolicy Delete until its snapshots are removed.
const FinalizerSnapshots = Group + "/snapshots"

// BackupPolicy says when snapshots are taken and which are kept. Three of its fields are those of coreos/etcd-operator.
//
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.size() == 0 || !has(self.backupIntervalInSecond) || self.backupIntervalInSecond == 0",message="write either schedule or backupIntervalInSecond, and not both"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone.size() == 0 || has(self.schedule) && self.schedule.size() > 0",message="timeZone is that of schedule: write both"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || !self.schedule.contains('=')",message="write the time zone of the schedule into timeZone"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || !self.schedule.startsWith('@every')",message="for an interval write backupIntervalInSecond instead of schedule"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.size() == 0 || self.schedule.contains('=') || self.schedule.startsWith('@every') || self.schedule.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9A-Za-z*?/,-]+ +[0-9A-Za-z*?/,-]+)$')",message="schedule has five fields: minute, hour, day of the month, month, day of the week (0-6), such as \"0 3 * * *\"; or it is one of @hourly, @daily, @weekly, @monthly, @yearly"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone != 'Local'",message="timeZone Local says nothing: write the zone's name, such as Europe/Berlin"
type BackupPolicy struct {
	// timeoutInSecond is the limit of one attempt at a snapshot. 0 means the default of 600 s.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutInSecond int64 `json:"timeoutInSecond,omitempty"`
	// backupIntervalInSecond between two snapshots of a series. 0 means one snapshot, or those of schedule.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BackupIntervalInSecond int64 `json:"backupIntervalInSecond,omitempty"`
	// maxBackups of a series to keep, the newest. Together with retention, what either keeps is kept. 0 and no
	// retention keeps all.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBackups int `json:"maxBackups,omitempty"`

	// schedule of a series: five fields of cron (minute, hour, day of the month, month, day of the week), or
	// @hourly, @daily, @weekly, @monthly, @yearly. Of runs that were missed, one is made.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule,omitempty"`
	// timeZone of schedule by its IANA name, such as Europe/Berlin. Without it UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-/]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// suspend ends the running attempt and starts no further ones, but those that the annotation
	// etcd.database.coreos.com/backup-now asks for.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// startingDeadlineSeconds after which a missed run is left out instead of made late. Without it, it is made
	// however late.
	// +optional
	// +kubebuilder:validation:Minimum=1
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// retention says which snapshots of a series are kept. What no rule keeps is removed after the next snapshot,
	// but never the newest one.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
}

// Retention keeps a snapshot where any of its rules does. Days, weeks and months are those of the schedule's time
// zone; of each the newest snapshot is kept.
type Retention struct {
	// keepWithin keeps all that are not older: numbers with units w (weeks), d (days), h, m (minutes) and s, such as "2w" or "1d12h".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}[wdhms])*$`
	KeepWithin string `json:"keepWithin,omitempty"`
	// keepHourly of the last so many hours that have a snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepHourly int `json:"keepHourly,omitempty"`
	// keepDaily of the last so many days that have a snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepDaily int `json:"keepDaily,omitempty"`
	// keepWeekly of the last so many weeks, from Monday, that have a snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepWeekly int `json:"keepWeekly,omitempty"`
	// keepMonthly of the last so many months that have a snapshot.
	// +optional
	// +kubebuilder:validation:Minimum=0
	KeepMonthly int `json:"keepMonthly,omitempty"`
}

// NoQuorumPolicy says what to do where no quorum stands behind any member.
//
// +kubebuilder:validation:Enum=Refuse;Mark
type NoQuorumPolicy string

// A cluster without quorum is not saved, or saved from its most advanced voter and marked.
const (
	NoQuorumRefuse NoQuorumPolicy = "Refuse"
	NoQuorumMark   NoQuorumPolicy = "Mark"
)

// DeletionPolicy says what becomes of the snapshots when the EtcdBackup is deleted.
//
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

// Snapshots stay, or go with their EtcdBackup.
const (
	DeletionRetain DeletionPolicy = "Retain"
	DeletionDelete DeletionPolicy = "Delete"
)

// VerifyMode says how a snapshot is proven.
//
// +kubebuilder:validation:Enum=Checksum;Restore
type VerifyMode string

// Every snapshot's checksum and structure are checked before it becomes an object. With Restore it is also read
// back, restored into scratch space, and compared with the cluster.
const (
	VerifyChecksum VerifyMode = "Checksum"
	VerifyRestore  VerifyMode = "Restore"
)

// DrillPolicy says when the newest snapshot is read back and restored into scratch space.
//
// +kubebuilder:validation:XValidation:rule="self.schedule.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9A-Za-z*?/,-]+ +[0-9A-Za-z*?/,-]+)$')",message="schedule has five fields: minute, hour, day of the month, month, day of the week (0-6), such as \"0 3 * * *\"; or it is one of @hourly, @daily, @weekly, @monthly, @yearly"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone != 'Local'",message="timeZone Local says nothing: write the zone's name, such as Europe/Berlin"
type DrillPolicy struct {
	// schedule in five fields of cron, or @daily and so on. Of drills that were missed, one is made.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// timeZone of schedule by its IANA name. Without it UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-/]*$`
	TimeZone string `json:"timeZone,omitempty"`
}

// BackupProgress is how far the running attempt is.
type BackupProgress struct {
	// stage in words, for example "streaming from http://10.0.0.1:2379".
	// +optional
	Stage string `json:"stage,omitempty"`
	// bytes that have passed.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// totalBytes that are expected; 0 where nobody knows.
	// +optional
	TotalBytes int64 `json:"totalBytes,omitempty"`
	// percent of totalBytes; at most 99 while it runs.
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// bytesPerSecond since the stage began.
	// +optional
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
}

// DrillResult is how a drill ended.
//
// +kubebuilder:validation:Enum=Passed;Failed
type DrillResult string

// The snapshot can be restored, or it cannot.
const (
	DrillPassed DrillResult = "Passed"
	DrillFailed DrillResult = "Failed"
)

// BackupDrill is the last time that a snapshot was read back from the store and restored into scratch space.
type BackupDrill struct {
	// path is "<bucket>/<key>" of the snapshot.
	Path string `json:"path"`
	// result is Passed or Failed.
	Result DrillResult `json:"result"`
	// time when the drill ended.
	Time metav1.Time `json:"time"`
	// revision that the restored data holds.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// compared says whether the hash of all keys and values at that revision is the running cluster's, too. It is
	// not compared where the cluster has compacted that revision or does not answer.
	// +optional
	Compared bool `json:"compared,omitempty"`
	// message says what was found.
	// +optional
	Message string `json:"message,omitempty"`
}

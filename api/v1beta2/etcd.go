package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdPolicy holds options of etcd itself. A field that is not set leaves etcd's own default. A change restarts members
// one at a time.
//
// +kubebuilder:validation:XValidation:rule="duration(has(self.electionTimeout) ? self.electionTimeout : '1s').getMilliseconds() >= 5 * duration(has(self.heartbeatInterval) ? self.heartbeatInterval : '100ms').getMilliseconds()",message="electionTimeout (default 1s) must be at least five times heartbeatInterval (default 100ms), as etcd requires: raise electionTimeout, or lower heartbeatInterval"
type EtcdPolicy struct {
	// Space quota: the size that a member's database file may have, in bytes, at least 16Mi. A full file stops all
	// writes. The volume must hold at least the quota, and should hold a quarter more and 1 GiB for logs. Default: 2Gi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).compareTo(quantity('16Mi')) >= 0",message="quotaBackendBytes must be whole bytes, at least 16Mi: write for example 4Gi"
	QuotaBackendBytes *resource.Quantity `json:"quotaBackendBytes,omitempty"`
	// Compaction of the history by etcd itself. A kube-apiserver compacts its etcd every 5 minutes, unless it runs with
	// --etcd-compaction-interval=0. Default: none.
	// +optional
	AutoCompaction *AutoCompactionPolicy `json:"autoCompaction,omitempty"`
	// How often the leader sends a heartbeat, 10ms to 9999ms. Use about the round-trip time between members. All
	// members need the same value, so avoid other changes until the restart is complete. Default: 100ms.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}ms|[0-9]{1,2}([.][0-9]{1,3})?s)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10ms') && duration(self) < duration('10s')",message="heartbeatInterval must be 10ms to 9999ms: write for example 100ms"
	// +kubebuilder:validation:MaxLength=16
	HeartbeatInterval *metav1.Duration `json:"heartbeatInterval,omitempty"`
	// How long a member waits for a heartbeat before it starts an election, 50ms to 50s. It must be at least five times
	// heartbeatInterval; ten times the round-trip time is usual. Default: 1s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}ms|[0-9]{1,2}([.][0-9]{1,3})?s)$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('50ms') && duration(self) <= duration('50s')",message="electionTimeout must be 50ms to 50s: write for example 1s"
	// +kubebuilder:validation:MaxLength=16
	ElectionTimeout *metav1.Duration `json:"electionTimeout,omitempty"`
	// Level from which etcd writes log messages. Default: info.
	// +optional
	// +kubebuilder:validation:Enum=debug;info;warn;error;panic;fatal
	LogLevel string `json:"logLevel,omitempty"`
	// Size of the largest request that a client can send, in bytes, 1Ki to 100Mi. Large requests make all others
	// slower; etcd advises at most 10Mi. Default: 1.5Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('100Mi')) <= 0",message="maxRequestBytes must be whole bytes, 1Ki to 100Mi: write for example 4Mi"
	MaxRequestBytes *resource.Quantity `json:"maxRequestBytes,omitempty"`
	// Number of committed transactions after which a member writes a raft snapshot and drops older entries of its raft
	// log, 100 to 10000000. Default: 10000 since etcd 3.6, and 100000 before.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=10000000
	SnapshotCount *int64 `json:"snapshotCount,omitempty"`
}

// AutoCompactionMode decides what retention counts.
//
// +kubebuilder:validation:Enum=Periodic;Revision
type AutoCompactionMode string

// The modes of auto-compaction.
const (
	// AutoCompactionPeriodic keeps the history of a time.
	AutoCompactionPeriodic AutoCompactionMode = "Periodic"
	// AutoCompactionRevision keeps a number of revisions.
	AutoCompactionRevision AutoCompactionMode = "Revision"
)

// AutoCompactionPolicy decides how much history etcd keeps. Clients that read or watch an older revision get an error
// that it is compacted.
//
// +kubebuilder:validation:XValidation:rule="self.mode == 'Periodic' ? self.retention.matches('^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$') && duration(self.retention) >= duration('1m') : self.retention.matches('^[1-9][0-9]{0,17}$')",message="retention does not fit mode: write a time from 1m for Periodic (\"5m\"), or a number of revisions for Revision (\"1000\")"
type AutoCompactionPolicy struct {
	// Periodic keeps the history of the last retention. Revision keeps the newest revisions.
	// +required
	Mode AutoCompactionMode `json:"mode"`
	// How much history is kept. For Periodic it is a time of at least 1m, for example "5m". For Revision it is a number of
	// revisions, for example "1000".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	Retention string `json:"retention"`
}

// NoSpaceAction decides what to do if a member has used up its space quota.
//
// +kubebuilder:validation:Enum=Compact;Defragment;Wait
type NoSpaceAction string

// The reactions to a used-up space quota.
const (
	// NoSpaceCompact removes old revisions, defragments and disarms the alarm.
	NoSpaceCompact NoSpaceAction = "Compact"
	// NoSpaceDefragment keeps all revisions, defragments and disarms the alarm.
	NoSpaceDefragment NoSpaceAction = "Defragment"
	// NoSpaceWait changes nothing until the user acts.
	NoSpaceWait NoSpaceAction = "Wait"
)

// NoSpacePolicy decides what the operator does if a member has used up its space quota and etcd refuses writes.
type NoSpacePolicy struct {
	// What to do if the quota is used up. Compact removes old revisions if that is needed, defragments one member at a
	// time and disarms the alarm. Defragment does the same without removing revisions. Wait does nothing. Keys and
	// their current values are never removed. Default: Compact.
	// +optional
	// +kubebuilder:default=Compact
	Action NoSpaceAction `json:"action,omitempty"`
	// Number of newest revisions that Compact keeps. Clients that read or watch an older revision get an error that it
	// is compacted. The value 0 keeps only the current revision. Default: 1000.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=0
	KeepRevisions *int64 `json:"keepRevisions,omitempty"`
}

// DefaultKeepRevisions equals the schema's default, for clusters without a policy.
const DefaultKeepRevisions int64 = 1000

// DefragmentationPolicy decides when members are defragmented.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) && self.schedule.size() > 0 || has(self.freePercent)",message="defragmentation needs a trigger: write schedule (a time), freePercent (an amount of free space), or both"
// +kubebuilder:validation:XValidation:rule="!has(self.minimumSize) || has(self.freePercent)",message="minimumSize requires freePercent: write freePercent too, or remove minimumSize"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone.size() == 0 || has(self.schedule) && self.schedule.size() > 0",message="timeZone requires schedule: write schedule too, or remove timeZone"
// +kubebuilder:validation:XValidation:rule="!has(self.startingDeadlineSeconds) || has(self.schedule) && self.schedule.size() > 0",message="startingDeadlineSeconds requires schedule: write schedule too, or remove startingDeadlineSeconds"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.size() == 0 || self.schedule.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9A-Za-z*?/,-]+ +[0-9A-Za-z*?/,-]+)$')",message="schedule is not valid: write five fields (minute, hour, day of the month, month, day of the week 0-6), such as \"0 3 * * 0\", or one of @hourly, @daily, @weekly, @monthly, @yearly"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone != 'Local'",message="timeZone Local is not allowed, because it depends on the node: write an IANA name, such as Europe/Berlin"
type DefragmentationPolicy struct {
	// Schedule on which every member is defragmented, in cron format, for example "0 3 * * 0". The names @hourly,
	// @daily, @weekly, @monthly and @yearly are allowed, too. After any number of missed runs the operator makes one.
	// Default: no schedule.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule,omitempty"`
	// IANA name of the time zone of schedule, for example Europe/Berlin. It requires schedule. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-/]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// Seconds by which a run, or the rest of one, may start late, at least 60. After that it is skipped. It requires
	// schedule. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=60
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// Share of free space in a member's database file from which it is defragmented, in percent, 10 to 95. A member is
	// defragmented for this at most once an hour. Default: free space alone is no trigger.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	FreePercent *int32 `json:"freePercent,omitempty"`
	// Size of a database file below which freePercent is ignored. It requires freePercent. Default: 100Mi.
	// +optional
	MinimumSize *resource.Quantity `json:"minimumSize,omitempty"`
}

// DefaultMinimumSize is the default of minimumSize in bytes: 100Mi.
const DefaultMinimumSize int64 = 100 << 20

// SmallestFile returns minimumSize in bytes, or its default.
func (p *DefragmentationPolicy) SmallestFile() int64 {
	if p.MinimumSize == nil {
		return DefaultMinimumSize
	}
	return p.MinimumSize.Value()
}

// SpaceStatus is the operator's work against a used-up space quota.
type SpaceStatus struct {
	// Revision up to which the operator had etcd remove the history.
	CompactedRevision int64 `json:"compactedRevision"`
	// Time of that compaction.
	// +optional
	CompactedAt *metav1.Time `json:"compactedAt,omitempty"`
}

// DefragmentationStatus is the progress of a defragmentation schedule.
type DefragmentationStatus struct {
	// Schedule that this status describes, with its time zone.
	Schedule string `json:"schedule"`
	// Scheduled time of the last finished run, or the time at which the operator first saw the schedule.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
}

// VersionChangeStep is the step that preparing the data for another minor version has reached.
//
// +kubebuilder:validation:Enum=Preparing;Snapshotted;Ready
type VersionChangeStep string

// The steps of a change of version, in order.
const (
	// VersionChangePreparing means that etcd may be converting the data to another version.
	VersionChangePreparing VersionChangeStep = "Preparing"
	// VersionChangeSnapshotted means that every member has taken a raft snapshot that covers all entries which the new
	// version cannot read. The cluster's version is not restored yet.
	VersionChangeSnapshotted VersionChangeStep = "Snapshotted"
	// VersionChangeReady means that members can start on the new version.
	VersionChangeReady VersionChangeStep = "Ready"
)

// VersionChangeStatus is the progress of preparing the members' data for another minor version. The operator records
// it before it stops the first member, because a stopped member cannot be asked.
type VersionChangeStatus struct {
	// Minor version that the data is prepared for, for example "3.7".
	To string `json:"to"`
	// Step that was reached: Preparing, Snapshotted or Ready.
	Step VersionChangeStep `json:"step"`
	// Index in the raft log that every member must have applied.
	// +optional
	Index int64 `json:"index,omitempty"`
}

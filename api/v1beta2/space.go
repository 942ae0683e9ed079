package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

package v1beta2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NoSpaceAction says what to do when members have used up their space quota.
// +kubebuilder:validation:Enum=Compact;Defragment;Wait
type NoSpaceAction string

// What the operator does by itself when etcd refuses writes because a space quota is used up.
const (
	// NoSpaceCompact forgets old revisions, gives the space back and disarms the alarm.
	NoSpaceCompact NoSpaceAction = "Compact"
	// NoSpaceDefragment gives back the space that is free already and disarms the alarm; no revision is forgotten.
	NoSpaceDefragment NoSpaceAction = "Defragment"
	// NoSpaceWait changes nothing until somebody has.
	NoSpaceWait NoSpaceAction = "Wait"
)

// NoSpacePolicy says what the operator does by itself when members have used up their space quota, and etcd refuses
// writes.
type NoSpacePolicy struct {
	// action is Compact (the default), Defragment or Wait. Compact forgets revisions but for the newest keepRevisions,
	// if that is needed, then defragments one member after the other and disarms the alarm. Defragment forgets nothing.
	// Keys and their present values are never touched.
	// +optional
	// +kubebuilder:default=Compact
	Action NoSpaceAction `json:"action,omitempty"`
	// keepRevisions is how many of the newest revisions stay, for those who read or watch from a revision that is not
	// the present one. With 0 only the present one stays.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=0
	KeepRevisions *int64 `json:"keepRevisions,omitempty"`
}

// DefaultKeepRevisions is the schema's default, for clusters without a policy.
const DefaultKeepRevisions int64 = 1000

// NoSpaceAction is what to do when members have used up their space quota.
func (s *EtcdClusterSpec) NoSpaceAction() NoSpaceAction {
	if s.NoSpace == nil || s.NoSpace.Action == "" {
		return NoSpaceCompact
	}
	return s.NoSpace.Action
}

// KeepRevisions is how many revisions a compaction leaves.
func (s *EtcdClusterSpec) KeepRevisions() int64 {
	if s.NoSpace == nil || s.NoSpace.KeepRevisions == nil {
		return DefaultKeepRevisions
	}
	return *s.NoSpace.KeepRevisions
}

// DefragmentationPolicy says when members write their database files anew, without the free space in them: one member
// at a time, the leader last, and only while all members are well and nothing else is going on. A member answers nobody
// while it does.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) && self.schedule.size() > 0 || has(self.freePercent)",message="write schedule (when), freePercent (from how much free space on), or both"
// +kubebuilder:validation:XValidation:rule="!has(self.minimumSize) || has(self.freePercent)",message="minimumSize is that of freePercent: write both"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone.size() == 0 || has(self.schedule) && self.schedule.size() > 0",message="timeZone is that of schedule: write both"
// +kubebuilder:validation:XValidation:rule="!has(self.startingDeadlineSeconds) || has(self.schedule) && self.schedule.size() > 0",message="startingDeadlineSeconds is that of schedule: write both"
// +kubebuilder:validation:XValidation:rule="!has(self.schedule) || self.schedule.size() == 0 || self.schedule.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9*?/,-]+ +[0-9A-Za-z*?/,-]+ +[0-9A-Za-z*?/,-]+)$')",message="schedule has five fields: minute, hour, day of the month, month, day of the week (0-6), such as \"0 3 * * 0\"; or it is one of @hourly, @daily, @weekly, @monthly, @yearly"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || self.timeZone != 'Local'",message="timeZone Local says nothing: write the zone's name, such as Europe/Berlin"
type DefragmentationPolicy struct {
	// schedule in five fields of cron, or @weekly and so on, at which every member is defragmented. Of runs that were
	// missed, one is made.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule,omitempty"`
	// timeZone of schedule by its IANA name, such as Europe/Berlin. Without it UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+\-/]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// startingDeadlineSeconds after which a missed run, or what is left of one, is left out instead of made late.
	// Without it, it is made however late.
	// +optional
	// +kubebuilder:validation:Minimum=60
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// freePercent of a member's database file from which on it is defragmented, at most once an hour.
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=95
	FreePercent *int32 `json:"freePercent,omitempty"`
	// minimumSize of a database file that freePercent looks at. Without it 100Mi.
	// +optional
	MinimumSize *resource.Quantity `json:"minimumSize,omitempty"`
}

// DefaultMinimumSize of a database file that is looked at for free space: 100Mi.
const DefaultMinimumSize int64 = 100 << 20

// SmallestFile in bytes that is looked at for free space.
func (p *DefragmentationPolicy) SmallestFile() int64 {
	if p.MinimumSize == nil {
		return DefaultMinimumSize
	}
	return p.MinimumSize.Value()
}

// SpaceStatus is what the operator did because members have used up their space quota.
type SpaceStatus struct {
	// compactedRevision up to which it had etcd forget what was before, and compactedAt when.
	CompactedRevision int64 `json:"compactedRevision"`
	// +optional
	CompactedAt *metav1.Time `json:"compactedAt,omitempty"`
}

// DefragmentationStatus is how far a schedule of defragmentation is.
type DefragmentationStatus struct {
	// schedule that it is about, with its time zone.
	Schedule string `json:"schedule"`
	// lastScheduleTime of the last run that is over, or when the schedule was first seen.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`
}

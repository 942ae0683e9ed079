package space

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
)

// freePause is the interval between defragmentations of a member for its free space: a busy cluster frees and uses space
// continuously.
const freePause = time.Hour

// Defragment makes members return free space if the spec asks for it. When this rule is asked, all members are healthy
// and match the spec.
func Defragment(s state.State) steps.Step {
	policy := s.Spec.Defragmentation
	if policy == nil || !s.MembershipKnown || s.Restoring() || state.MayReceiveSnapshot(s) {
		return nil
	}
	if step := defragmentScheduled(s, policy); step != nil {
		return step
	}
	if policy.FreePercent == nil {
		return nil
	}
	return waits.DefragmentNext(s, v1beta2.ReasonDefragmenting, func(m state.Member) bool {
		free := m.DBSize - m.DBSizeInUse
		return m.DBSizeInUse > 0 && m.DBSize >= policy.SmallestFile() && free*100 >= m.DBSize*int64(*policy.FreePercent) &&
			s.Now.Sub(state.DefragmentedAt(s, m.Name)) >= freePause
	})
}

// defragmentScheduled does a run of the schedule: every member that was not defragmented since it was due.
func defragmentScheduled(s state.State, policy *v1beta2.DefragmentationPolicy) steps.Step {
	recorded := DefragmentationStatus(s)
	if recorded == nil {
		return nil
	}
	plan, err := schedule.Parse(policy.Schedule, policy.TimeZone)
	if err != nil {
		return nil // invalidSchedule reports it
	}
	due, is := plan.Last(recorded.LastScheduleTime.Time, s.Now)
	if !is {
		return nil
	}
	if late := policy.StartingDeadlineSeconds; late != nil && s.Now.Sub(due) > time.Duration(*late)*time.Second {
		return steps.EndDefragmentation{Due: due, Late: true}
	}
	if step := waits.DefragmentNext(s, v1beta2.ReasonDefragmenting, func(m state.Member) bool { return state.DefragmentedAt(s, m.Name).Before(due) }); step != nil {
		return step
	}
	return steps.EndDefragmentation{Due: due}
}

// InvalidSchedule reports what the schema cannot check: a time or a zone that does not exist.
func InvalidSchedule(s state.State) steps.Step {
	policy := s.Spec.Defragmentation
	if policy == nil || policy.Schedule == "" {
		return nil
	}
	if _, err := schedule.Parse(policy.Schedule, policy.TimeZone); err != nil {
		return steps.Wait{Reason: v1beta2.ReasonInvalidSpec, Message: planning.Sentence("spec.defragmentation is invalid: ", err.Error()) + " No scheduled run starts until you correct it. The members continue to serve.", Stalled: true, Requeue: state.RequeueSettled}
	}
	return nil
}

// DefragmentationStatus is how far the schedule is. One that is new is due from now on.
func DefragmentationStatus(s state.State) *v1beta2.DefragmentationStatus {
	policy := s.Spec.Defragmentation
	if policy == nil || policy.Schedule == "" {
		return nil
	}
	words := policy.Schedule
	if policy.TimeZone != "" {
		words += " " + policy.TimeZone
	}
	if s.Defragmentation != nil && s.Defragmentation.Schedule == words && s.Defragmentation.LastScheduleTime != nil {
		return s.Defragmentation.DeepCopy()
	}
	return &v1beta2.DefragmentationStatus{Schedule: words, LastScheduleTime: ptr.To(metav1.NewTime(s.Now))}
}

// KeepDefragmented carries the time over to the same member.
func KeepDefragmented(members, before []v1beta2.MemberStatus) {
	for i := range members {
		for _, b := range before {
			if b.Name == members[i].Name && (b.ID == members[i].ID || members[i].ID == "") {
				members[i].DefragmentedAt = b.DefragmentedAt
			}
		}
	}
}

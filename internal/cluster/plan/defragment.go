package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
	"github.com/etcd-suite/etcd-operator/internal/schedule"
)

// freePause is the interval between defragmentations of a member for its free space: a busy cluster frees and uses space
// continuously.
const freePause = time.Hour

// defragment makes members return free space if the spec asks for it. When this rule is asked, all members are healthy
// and match the spec.
func defragment(s state.State) Step {
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
	return defragmentNext(s, v1beta2.ReasonDefragmenting, func(m state.Member) bool {
		free := m.DBSize - m.DBSizeInUse
		return m.DBSizeInUse > 0 && m.DBSize >= policy.SmallestFile() && free*100 >= m.DBSize*int64(*policy.FreePercent) &&
			s.Now.Sub(state.DefragmentedAt(s, m.Name)) >= freePause
	})
}

// defragmentScheduled does a run of the schedule: every member that was not defragmented since it was due.
func defragmentScheduled(s state.State, policy *v1beta2.DefragmentationPolicy) Step {
	recorded := defragmentationStatus(s)
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
		return EndDefragmentation{Due: due, Late: true}
	}
	if step := defragmentNext(s, v1beta2.ReasonDefragmenting, func(m state.Member) bool { return state.DefragmentedAt(s, m.Name).Before(due) }); step != nil {
		return step
	}
	return EndDefragmentation{Due: due}
}

// EndDefragmentation records that a run of the schedule is over.
type EndDefragmentation struct {
	// Due is when the run was due. Late: what was left of it is left out.
	Due  time.Time
	Late bool
}

func (step EndDefragmentation) describe(state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonDefragmenting, Requeue: state.RequeueSoon}
	due := step.Due.Format(time.RFC3339)
	if !step.Late {
		d.Message = "All members due at " + due + " are defragmented."
		return d
	}
	d.Message = "The defragmentation that was due at " + due + " is skipped, because it is later than spec.defragmentation.startingDeadlineSeconds allows."
	return announced(d, "DefragmentationLeftOut", cluster)
}

// invalidSchedule reports what the schema cannot check: a time or a zone that does not exist.
func invalidSchedule(s state.State) Step {
	policy := s.Spec.Defragmentation
	if policy == nil || policy.Schedule == "" {
		return nil
	}
	if _, err := schedule.Parse(policy.Schedule, policy.TimeZone); err != nil {
		return Wait{Reason: v1beta2.ReasonInvalidSpec, Message: planning.Sentence("spec.defragmentation is invalid: ", err.Error()) + " No scheduled run starts until you correct it. The members continue to serve.", Stalled: true, Requeue: state.RequeueSettled}
	}
	return nil
}

// DefragmentMember makes a member rewrite its database file without the free space in it.
type DefragmentMember struct{ Name, Reason string }

func (step DefragmentMember) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is defragmenting member " + step.Name + ".",
		Requeue: state.RequeueStarting,
	}, "DefragmentingMember", planning.Pod(step.Name))
}

// defragmentNext defragments one of the members that need it, the leader last and not before it handed over.
func defragmentNext(s state.State, why string, needs func(state.Member) bool) Step {
	var leader *state.Member
	if len(s.ForeignMembers) > 0 {
		return nil // they may be down
	}
	for _, m := range s.Membership() {
		switch {
		case !needs(m):
		case m.Leader:
			leader = &m
		default:
			return DefragmentMember{Name: m.Name, Reason: why}
		}
	}
	if leader == nil {
		return nil
	}
	if step := moveLeader(s, *leader); step != nil {
		return step
	}
	return DefragmentMember{Name: leader.Name, Reason: why}
}

// defragmentationStatus is how far the schedule is. One that is new is due from now on.
func defragmentationStatus(s state.State) *v1beta2.DefragmentationStatus {
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

// keepDefragmented carries the time over to the same member.
func keepDefragmented(members, before []v1beta2.MemberStatus) {
	for i := range members {
		for _, b := range before {
			if b.Name == members[i].Name && (b.ID == members[i].ID || members[i].ID == "") {
				members[i].DefragmentedAt = b.DefragmentedAt
			}
		}
	}
}

package steps

import (
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

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

// DefragmentMember makes a member rewrite its database file without the free space in it.
type DefragmentMember struct{ Name, Reason string }

func (step DefragmentMember) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is defragmenting member " + step.Name + ".",
		Requeue: state.RequeueStarting,
	}, "DefragmentingMember", planning.Pod(step.Name))
}

// CompactHistory has etcd forget what was before a revision.
type CompactHistory struct{ Revision int64 }

func (step CompactHistory) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonNoSpace,
		Message: fmt.Sprintf("The space quota is used up. The operator is compacting the history before revision %d.", step.Revision),
		Requeue: state.RequeueStarting,
	}, "CompactingHistory", cluster)
}

// DisarmAlarm takes an alarm off.
type DisarmAlarm struct {
	Alarm  etcd.Alarm
	Reason string
}

func (step DisarmAlarm) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is disarming alarm " + string(step.Alarm.Kind) + ", because its cause is removed.",
		Requeue: state.RequeueSoon,
	}, "DisarmingAlarm", cluster)
}

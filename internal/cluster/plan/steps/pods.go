package steps

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ReleaseMember lets a Pod that waits start etcd, because its member has been added.
type ReleaseMember struct{ Name string }

func (step ReleaseMember) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "Member " + step.Name + " has been added. Its Pod starts etcd.",
		Requeue: state.RequeueSoon,
	}
}

// LeavingCause says why a member of the cluster is about to lose its data. It is empty if the member is not.
func LeavingCause(s state.State, m state.Member) string {
	switch {
	case !m.InMembership || m.Incarnation != s.Incarnation:
		return ""
	case state.VolumeLoss(s, m) != "":
		return state.VolumeLoss(s, m)
	case state.GoesWithPod(s, m) && StopStale(s, m) != nil && state.MayRoll(s):
		return state.PodRecreated
	case state.ReplacementAsked(s, m):
		return state.AskedFor
	}
	return ""
}

// LeavingMembers are the members that are about to lose their data.
func LeavingMembers(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool { return LeavingCause(s, m) != "" })
}

// inPlace names the member that a new member replaces. It is empty if the new member replaces none.
func inPlace(s state.State) string {
	leaving := LeavingMembers(s)
	if len(leaving) == 0 || s.Surplus() < 0 {
		return ""
	}
	return " to replace member " + leaving[0].Name + ", because " + LeavingCause(s, leaving[0])
}

// RelabelPod brings the labels and annotations of a running Pod to those that the spec asks for.
type RelabelPod struct{ Name string }

func (step RelabelPod) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonRolling,
		Message: "The operator is setting the labels and annotations of member " + step.Name + " to those of spec.pod.",
		Requeue: state.RequeueSoon,
	}
}

// ResizePod changes CPU and memory of a member's running Pod.
type ResizePod struct{ Name string }

func (step ResizePod) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonResizingPod,
		Message: "The operator is changing CPU and memory of member " + step.Name + " in its running Pod.",
		Requeue: state.RequeueStarting,
	}, "ResizingPod", planning.Pod(step.Name))
}

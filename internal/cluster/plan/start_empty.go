package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// ForbidEmptyStart changes the Pod of a member that has started, so that its containers start with data only. The Pod runs on.
type ForbidEmptyStart struct{ Name string }

func (step ForbidEmptyStart) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "Member " + step.Name + " has started. From now on its Pod starts etcd only with the data of the member.",
		Requeue: state.RequeueSoon,
	}
}

// forbidEmptyStart: a member that has started may have voted. If a container of its Pod restarts on a volume that has become empty, etcd
// must not take up the old identity without its data. Pods of earlier releases cannot be changed, and get this when they are next recreated.
func forbidEmptyStart(s state.State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Membership() {
		there := m.Pod != state.PodNone && m.Pod != state.PodEnded && m.Pod != state.PodDeleting
		if forbid := (ForbidEmptyStart{Name: m.Name}); m.Started && m.MayStartEmpty && there && may(s, forbid) {
			return forbid
		}
	}
	return nil
}

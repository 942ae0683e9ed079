package recovery

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// ForbidEmptyStart has a member never start without data again. One that has started may have voted. If a container of its Pod restarts on a volume that has become empty, etcd
// must not take up the old identity without its data. Pods of earlier releases cannot be changed, and get this when they are next recreated.
func ForbidEmptyStart(s state.State) steps.Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Membership() {
		there := m.Pod != state.PodNone && m.Pod != state.PodEnded && m.Pod != state.PodDeleting
		if forbid := (steps.ForbidEmptyStart{Name: m.Name}); m.Started && m.MayStartEmpty && there && waits.May(s, forbid) {
			return forbid
		}
	}
	return nil
}

package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// maxIncarnation bounds the search for a name's incarnation, because a status can hold any number.
const maxIncarnation = 256

// IncarnationNamed is the incarnation that a member's name was made for. A name contains a hash of the EtcdCluster's
// UID and cannot be lost or changed, as labels can. It is false if the operator did not make the name for this
// EtcdCluster.
func IncarnationNamed(s state.State, member string) (int32, bool) {
	highest := max(s.Incarnation, s.Services.ClientIncarnation, state.FirstIncarnation)
	if s.Restore != nil {
		highest = max(highest, s.Restore.Incarnation)
	}
	for incarnation := range min(highest, maxIncarnation) + 1 {
		if state.Named(s, member, incarnation+1) {
			return incarnation + 1, true
		}
	}
	return 0, false
}

// DataGone reports whether the member is removed because nothing of its data is left.
func (step RemoveMember) DataGone() bool { return step.Cause == state.LostData }

// RestoreLabels sets labels, annotations and the owner that a member's Pod or volume lost, or that it does not have yet
// because an earlier release created it.
type RestoreLabels struct {
	Name   string
	Volume bool
}

func (step RestoreLabels) describe(state.State) planning.Description {
	kind, about := "Pod ", planning.Pod(step.Name)
	if step.Volume {
		kind, about = "volume ", planning.Volume(step.Name)
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is setting the labels by which Services and the operator find " + kind + step.Name + ".",
		Requeue: state.RequeueSoon,
	}, "RestoringLabels", about)
}

// restoreLabels is asked early: without its labels a Pod has no DNS name, and the members may lose each other.
func restoreLabels(s state.State) Step {
	for _, m := range s.Members {
		if m.Unlabelled && m.Pod != state.PodNone && m.Pod != state.PodDeleting && may(s, RestoreLabels{Name: m.Name}) {
			return RestoreLabels{Name: m.Name}
		}
		if m.VolumeUnlabelled && m.Volume == state.VolumePresent && may(s, RestoreLabels{Name: m.Name, Volume: true}) {
			return RestoreLabels{Name: m.Name, Volume: true}
		}
	}
	return nil
}

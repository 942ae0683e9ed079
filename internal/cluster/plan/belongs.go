package plan

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// maxIncarnation bounds the search for a name's incarnation, because a status can hold any number.
const maxIncarnation = 256

// IncarnationNamed is the incarnation that a member's name was made for. A name contains a hash of the EtcdCluster's
// UID and cannot be lost or changed, as labels can. It is false if the operator did not make the name for this
// EtcdCluster.
func (s State) IncarnationNamed(member string) (int32, bool) {
	highest := max(s.Incarnation, s.Services.ClientIncarnation, FirstIncarnation)
	if s.Restore != nil {
		highest = max(highest, s.Restore.Incarnation)
	}
	for incarnation := range min(highest, maxIncarnation) + 1 {
		if s.Named(member, incarnation+1) {
			return incarnation + 1, true
		}
	}
	return 0, false
}

// Named reports whether the operator made a member's name for that incarnation of this EtcdCluster.
func (s State) Named(member string, incarnation int32) bool {
	return s.ordinal(Member{Name: member, Incarnation: incarnation}) < maxOrdinal
}

// DataGone reports whether the member is removed because nothing of its data is left.
func (step RemoveMember) DataGone() bool { return step.Cause == LostData }

// RestoreLabels sets labels, annotations and the owner that a member's Pod or volume lost, or that it does not have yet
// because an earlier release created it.
type RestoreLabels struct {
	Name   string
	Volume bool
}

func (step RestoreLabels) describe(State) planning.Description {
	kind, about := "Pod ", planning.Pod(step.Name)
	if step.Volume {
		kind, about = "volume ", planning.Volume(step.Name)
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is setting the labels by which Services and the operator find " + kind + step.Name + ".",
		Requeue: requeueSoon,
	}, "RestoringLabels", about)
}

// restoreLabels is asked early: without its labels a Pod has no DNS name, and the members may lose each other.
func restoreLabels(s State) Step {
	for _, m := range s.Members {
		if m.Unlabelled && m.Pod != PodNone && m.Pod != PodDeleting && s.may(RestoreLabels{Name: m.Name}) {
			return RestoreLabels{Name: m.Name}
		}
		if m.VolumeUnlabelled && m.Volume == VolumePresent && s.may(RestoreLabels{Name: m.Name, Volume: true}) {
			return RestoreLabels{Name: m.Name, Volume: true}
		}
	}
	return nil
}

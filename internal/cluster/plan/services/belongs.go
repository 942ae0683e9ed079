package services

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
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

// RestoreLabels is asked early: without its labels a Pod has no DNS name, and the members may lose each other.
func RestoreLabels(s state.State) steps.Step {
	for _, m := range s.Members {
		if m.Unlabelled && m.Pod != state.PodNone && m.Pod != state.PodDeleting && waits.May(s, steps.RestoreLabels{Name: m.Name}) {
			return steps.RestoreLabels{Name: m.Name}
		}
		if m.VolumeUnlabelled && m.Volume == state.VolumePresent && waits.May(s, steps.RestoreLabels{Name: m.Name, Volume: true}) {
			return steps.RestoreLabels{Name: m.Name, Volume: true}
		}
	}
	return nil
}

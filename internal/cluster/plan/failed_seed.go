package plan

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// removeFailedSeed removes the seed of a failed restore. It never became the cluster.
func removeFailedSeed(s State) Step {
	for _, m := range s.Members {
		switch {
		case !s.failedSeed(m):
		case m.Pod != PodNone && m.Pod != PodDeleting:
			if remove := (DeletePod{Name: m.Name, Reason: v1beta2.ReasonRestoring, Message: "its restore failed"}); s.may(remove) {
				return remove
			}
		case m.Pod == PodNone && (m.Volume == VolumePresent || m.Volume == VolumeLost):
			return DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}
		}
	}
	return nil
}

// failedSeed says whether a member belongs to an incarnation that never became the cluster. If the status was lost, only a
// cluster that serves proves that a later incarnation failed.
func (s State) failedSeed(m Member) bool {
	underWay := s.Restoring() && m.Incarnation == s.Restore.Incarnation
	if underWay || m.Incarnation <= max(s.Incarnation, FirstIncarnation) {
		return false
	}
	failed := s.step() == v1beta2.RestoreFailed && m.Incarnation == s.Restore.Incarnation
	return failed || (s.Formed() && s.MembershipKnown)
}

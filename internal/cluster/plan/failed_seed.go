package plan

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// removeFailedSeed removes what a failed restore left: a seed that never was the cluster and never will be.
func removeFailedSeed(s State) Step {
	for _, m := range s.Members {
		switch {
		case !s.failedSeed(m):
		case m.Pod != PodNone && m.Pod != PodDeleting:
			return DeletePod{Name: m.Name, Reason: v1beta2.ReasonRestoring, Message: "its restore failed"}
		case m.Pod == PodNone && m.Volume == VolumePresent:
			return DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}
		}
	}
	return nil
}

// failedSeed says whether a member is of a life that never came to be. Where the status was lost, only a cluster that
// serves proves that a later life did not.
func (s State) failedSeed(m Member) bool {
	underWay := s.Restoring() && m.Incarnation == s.Restore.Incarnation
	if underWay || m.Incarnation <= max(s.Incarnation, FirstIncarnation) {
		return false
	}
	failed := s.step() == v1beta2.RestoreFailed && m.Incarnation == s.Restore.Incarnation
	return failed || (s.Formed() && s.MembershipKnown)
}

package plan

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// Whose data is on a member's volume, and would its next Pod have it? Every rule that stops or starts a Pod, counts a voter, or deletes or
// sets aside a volume asks dataOf, and so do the PodDisruptionBudget and the status.
//
//	its claim                              its Pod runs on it    it has no Pod
//	the one that it served on              OnVolume              OnVolume
//	being deleted, lost or gone            InPodOnly             NoData
//	another one of the same name           InPodOnly             NoData
//	none, because the data is in the Pod   InPodOnly             NoData

// volumeIDOf returns the volume to record for a member: that on which it serves, and else what was recorded before.
func volumeIDOf(s state.State, m state.Member) state.VolumeID {
	mounted := m.Pod == state.PodRunning && m.Serving && m.Volume != state.VolumeNone && !m.VolumeCreated.After(m.PodCreated)
	if mounted && !state.InPod(s, m) && !state.OnAnotherVolume(s, m) && m.VolumeID.Claim != "" {
		return m.VolumeID
	}
	was, _ := state.ServedOn(s, m)
	return was
}

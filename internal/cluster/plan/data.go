package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Whose data is on a member's volume, and would its next Pod have it? Every rule that stops or starts a Pod, counts a voter, or deletes or
// sets aside a volume asks dataOf, and so do the PodDisruptionBudget and the status.
//
//	its claim                              its Pod runs on it    it has no Pod
//	the one that it served on              OnVolume              OnVolume
//	being deleted, lost or gone            InPodOnly             NoData
//	another one of the same name           InPodOnly             NoData
//	none, because the data is in the Pod   InPodOnly             NoData

// Data is where the data of a member is.
type Data string

// Places of data. Whoever stops the Pod of a member with InPodOnly deletes that data.
const (
	// NoData: the member has never had data, or nothing of it is left.
	NoData Data = ""
	// OnVolume: its next Pod has the data.
	OnVolume Data = "OnVolume"
	// InPodOnly: the data exists as long as its Pod does.
	InPodOnly Data = "InPodOnly"
)

// VolumeID tells the volume of a member from another one that a person created under the same name.
type VolumeID struct {
	// Claim is the UID of the PersistentVolumeClaim, and Volume the name of the PersistentVolume that it is bound to.
	Claim  types.UID
	Volume string
}

// same reports whether two claims have the same data behind them. A claim that was created again for the same PersistentVolume has, and
// one that has the UID of the other is the same claim: its PersistentVolume was bound later. What is not known does not differ.
func (id VolumeID) same(other VolumeID) bool {
	if id.Volume != "" && other.Volume != "" {
		return id.Volume == other.Volume
	}
	return id.Claim == "" || other.Claim == "" || id.Claim == other.Claim
}

// dataOf returns where the data of a member is. In doubt the member has data: nothing is deleted or replaced for a doubt.
func (s State) dataOf(m Member) Data {
	started := m.Pod == PodRunning || m.Pod == PodDeleting || (m.Pod == PodBlocked && m.Ran)
	placed := m.Pod == PodStarting || (m.Pod == PodBlocked && m.PodReason != v1beta2.ReasonPodUnschedulable)
	switch {
	case m.VolumeUnused && (m.neverRan() || m.Pod == PodNone), m.neverRan() && s.inPod(m):
		return NoData
	case s.inPod(m) && m.Pod != PodNone && m.Pod != PodEnded:
		return InPodOnly
	case s.inPod(m):
		return NoData
	case s.onVolume(m):
		return OnVolume
	case started, m.Volume == VolumeDeleting && placed: // its volume is kept as long as it is mounted
		return InPodOnly
	}
	return NoData
}

// onVolume reports whether the volume of a member is there, is the one that it served on, and is what the spec asks for.
func (s State) onVolume(m Member) bool {
	return m.Volume == VolumePresent && s.Durable() && !s.OnAnotherVolume(m)
}

// Durable says whether members keep their data apart from their Pods.
func (s State) Durable() bool { return s.Spec.Pod == nil || s.Spec.Pod.EmptyDir == nil }

// inPod says whether the data of a member is in its Pod. The spec decides only about Pods that are yet to be created.
func (s State) inPod(m Member) bool { return m.DataInPod || !s.Durable() }

// HoldsData says whether a member has, or may have, data that it runs on or can start again with.
func (s State) HoldsData(m Member) bool { return s.dataOf(m) != NoData }

// keepsData says whether the next Pod of a member has its data.
func (s State) keepsData(m Member) bool { return s.dataOf(m) == OnVolume }

// goesWithPod says whether a member has data that its next Pod would not have.
func (s State) goesWithPod(m Member) bool { return s.dataOf(m) == InPodOnly }

// DataInPods says whether the data of any current member is lost with its Pod, or was and will be.
func (s State) DataInPods() bool {
	return !s.Durable() || slices.ContainsFunc(s.Current(), func(m Member) bool { return s.inPod(m) || s.goesWithPod(m) })
}

// servedOn returns the volume that a member was last seen to serve on. It is not known for a member of an earlier release that has not
// served since, nor if the status was lost. A record of an earlier member of the same name does not count.
func (s State) servedOn(m Member) (VolumeID, bool) {
	id, known := s.KnownVolumes[m.Name]
	if was := s.KnownIDs[m.Name]; m.ID != 0 && was != 0 && was != m.ID {
		return VolumeID{}, false
	}
	return id, known
}

// OnAnotherVolume reports whether the claim of a member is not the one that it served on. A person has created it, perhaps from a copy.
// A copy may lack writes that the member has acknowledged, and votes that it has cast.
func (s State) OnAnotherVolume(m Member) bool {
	if m.Volume == VolumeNone || s.inPod(m) {
		return false
	}
	was, known := s.servedOn(m)
	return (known && !was.same(m.VolumeID) || s.mayBeForced(m)) && !s.accepted(m)
}

// accepted reports whether the annotation consents to the claim of a member. While a quorum serves, no member starts on such a claim:
// a new member takes its place, and gets all data from the others.
func (s State) accepted(m Member) bool {
	return slices.Contains(s.Asked.AcceptVolumes, s.tokenOf(m)) && (!s.MembershipKnown || m.Pod != PodNone)
}

// volumeIDOf returns the volume to record for a member: that on which it serves, and else what was recorded before.
func (s State) volumeIDOf(m Member) VolumeID {
	mounted := m.Pod == PodRunning && m.Serving && m.Volume != VolumeNone && !m.VolumeCreated.After(m.PodCreated)
	if mounted && !s.inPod(m) && !s.OnAnotherVolume(m) && m.VolumeID.Claim != "" {
		return m.VolumeID
	}
	was, _ := s.servedOn(m)
	return was
}

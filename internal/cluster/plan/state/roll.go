package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Lacking is how many members the membership lacks.
func Lacking(s State) int { return max(-s.Surplus(), 0) }

// FailedFor reports whether a member has failed for longer than grace: its Pod has not been ready for that time, and this process has seen it fail for
// the short grace period at least.
func FailedFor(s State, m Member, grace time.Duration) bool {
	return UnreadyFor(s, m, grace) && SeenFailingFor(s, m, shortGrace(s, grace))
}

// shortGrace is how long a member may fail after it got its vote, after it read its database, or after a quorum was elected. It never prolongs the
// grace period of the spec.
func shortGrace(s State, grace time.Duration) time.Duration {
	return min(grace, max(RecreateGrace, ElectionGrace(s)))
}

// A member that is about to lose its data is replaced while it serves. A learner joins, with the current spec, and gets its
// vote. Only then one such member is removed, the leader last. So there are never fewer copies than the spec asks for.
// A member loses its data if its volume is being deleted, or if its Pod must be recreated and holds the data (emptyDir).

// Causes of a loss of data.
const (
	CauseVolumeDeleted = "its volume is being deleted"
	CauseVolumeLost    = "its PersistentVolume does not exist any more"
	CauseVolumeAside   = "its volume was set aside"
	CauseVolumeGone    = "its PersistentVolumeClaim does not exist any more"
	CauseVolumeForced  = "a recovery from it was cancelled after it may have started alone"
	CauseVolumeOther   = "its PersistentVolumeClaim is not the one that it served on"
	// PodRecreated: the data is in the Pod.
	PodRecreated = "its Pod must be recreated and its data would be deleted with it"
)

// MayRoll says whether members may be restarted with the current spec. All other changes wait while the version is refused,
// or while the data is not prepared for it.
func MayRoll(s State) bool {
	if !s.Formed() || !s.MembershipKnown || RollRefusal(s) != "" {
		return false
	}
	lowest, highest := Versions(s)
	return readyFor(s, lowest, highest)
}

// readyFor says whether a member may be started on the spec's version.
func readyFor(s State, lowest, highest string) bool {
	p, needed := Preparation(s, lowest, highest)
	if !Answered(s) && s.VersionChange != nil {
		return s.VersionChange.To == Minor(s.Spec.EtcdVersion()) && s.VersionChange.Step == v1beta2.VersionChangeReady
	}
	if !needed {
		return unreadable(s) == ""
	}
	if Prepared(s, p) != v1beta2.VersionChangeReady {
		return false
	}
	return p.Via != p.To || Downgrade(s) == p.Via || !Answered(s)
}

// Causes of a replacement.
const (
	// LostData: nothing is left of its data.
	LostData = "its data is lost"
	// CorruptData: its data differs from that of a quorum, or etcd cannot read it.
	CorruptData = "its data is corrupt"
	MakesWay    = "it cannot start, and another member must be replaced"
)

// NotServed begins the cause of a member that is replaced because it does not serve.
const NotServed = "it has not served for "

// DeadVoter returns the voter that replaceDead replaces, or would replace if there was no learner.
func DeadVoter(s State) (Member, bool) {
	if _, held := ForeignLearner(s); held || !s.Voters().KeepsQuorumWithout(false) {
		return Member{}, false
	}
	for _, m := range s.Membership() {
		noImage := m.PodReason == v1beta2.ReasonImageUnavailable && m.PodImage == s.ImageFor(m.Incarnation)
		if !m.Learner && !m.Serving && !noImage && !s.Fenced(m.Name) && !FailsBySpec(s, m) && failedForGrace(s, m) {
			return m, true
		}
	}
	return Member{}, false
}

// FailsBySpec reports whether a member ends again and again since it got the current spec, while others serve with an earlier
// one. A new member would fail, too. The change may be what is wrong, and a person can undo it.
func FailsBySpec(s State, m Member) bool {
	if m.Pod != PodBlocked || m.PodReason != v1beta2.ReasonPodFailing || m.Empty || m.Outdated || m.PodImage != s.ImageFor(m.Incarnation) {
		return false
	}
	return slices.ContainsFunc(s.Membership(), func(other Member) bool {
		return other.Serving && other.Name != m.Name && (other.Outdated || other.PodImage != m.PodImage)
	})
}

// failedForGrace reports whether a member has failed for the grace period of the spec. One that lacks a CA is restarted first, and each restart begins anew
// the time for which its Pod is not ready. Because CAs may change more often than the grace period, the time since it fails counts after a restart that did not help.
func failedForGrace(s State, m Member) bool {
	grace := s.Spec.MemberReplacementGrace()
	if lacksCA(s, m) {
		return m.PodCreated.After(m.FailingSince) && SeenFailingFor(s, m, grace)
	}
	return FailedFor(s, m, grace)
}

// Wrong says what is wrong with a member's data.
func (m Member) Wrong() string {
	if m.Corrupt {
		return CorruptData
	}
	return LostData
}

// BesideFor says whether a container beside etcd has not been ready for longer than grace.
func BesideFor(s State, m Member, grace time.Duration) bool {
	return m.Beside != "" && m.Pod == PodRunning && s.Now.Sub(m.BesideSince) > grace
}

// ImageOfAnotherVersion reports a member that runs the spec's image, and whose etcd is of another minor version than the spec.
// Then image.digest, image.tag or spec.version is wrong, and no check of an upgrade applies.
func ImageOfAnotherVersion(s State) string {
	wanted := s.Spec.EtcdVersion()
	for _, m := range s.Membership() {
		if m.PodImage == s.Spec.Image() && m.Version != "" && Minor(m.Version) != Minor(wanted) {
			return fmt.Sprintf("Member %s runs the image of the spec, which is of etcd %s, and spec.version is %s. Set spec.version to %s if you want that version. Otherwise set spec.image to an image of %s.",
				m.Name, m.Version, wanted, m.Version, wanted)
		}
	}
	return ""
}

// RollRefusal says why members may not be brought to the spec's image, or nothing.
func RollRefusal(s State) string {
	if refusal := ImageOfAnotherVersion(s); refusal != "" {
		return refusal
	}
	lowest, highest := Versions(s)
	wanted := s.Spec.EtcdVersion()
	if refusal := RefusedUpgrade(s, lowest, highest, wanted); refusal != "" {
		return refusal
	}
	p, needed := Preparation(s, lowest, highest)
	if needed && p.Via == p.To && slices.ContainsFunc(s.Membership(), func(m Member) bool { return InPod(s, m) && s.HoldsData(m) }) {
		return fmt.Sprintf("The data of the members is in their Pods (emptyDir), so an upgrade or downgrade replaces them. etcd accepts no new member while it converts its data to %s. Set spec.version to %s again.", p.To, lowest)
	}
	return ""
}

// unreadable is the minor version of data that etcd of the spec's version cannot read, because a downgrade has begun, or because etcd has
// yet to raise it after an upgrade. It is empty if members report none.
func unreadable(s State) string {
	for _, m := range s.Current() {
		if TwoBelow(m.StorageVersion, s.Spec.EtcdVersion()) {
			return Minor(m.StorageVersion)
		}
	}
	return ""
}

// VolumeLoss says what of a member's volume keeps its next Pod from having its data. It is empty for nothing. A claim that the operator
// has not seen yet is no loss: only a member that served on one can have lost it.
func VolumeLoss(s State, m Member) string {
	_, recorded := ServedOn(s, m)
	switch {
	case m.Volume == VolumeDeleting:
		return CauseVolumeDeleted
	case m.Volume == VolumeLost:
		return CauseVolumeLost
	case OnAnotherVolume(s, m) && mayBeForced(s, m):
		return CauseVolumeForced
	case OnAnotherVolume(s, m):
		return CauseVolumeOther
	case m.Volume == VolumeNone && isAside(s, m.Name) && GoesWithPod(s, m):
		return CauseVolumeAside
	case m.Volume == VolumeNone && !InPod(s, m) && recorded && GoesWithPod(s, m):
		return CauseVolumeGone
	}
	return ""
}

// SaysOtherVolumes names the claims that do not count, and how the user accepts them if no member has its data.
func SaysOtherVolumes(s State, nothingElse bool) (said string) {
	copies, alone := Undecided(s)
	if len(copies) > 0 {
		said = " These PersistentVolumeClaims are not the ones that their members served on, so they do not count: " + strings.Join(MemberNames(copies), ", ") +
			". If they are copies, they can lack writes that etcd has acknowledged."
	}
	if len(alone) > 0 {
		said += " The data of " + strings.Join(MemberNames(alone), ", ") + " does not count, because it may be a cluster of its own: " + CauseVolumeForced + "."
	}
	if all := append(copies, alone...); nothingElse && len(all) > 0 {
		said += " If nothing newer is left, accept them: " + HowToAccept(Tokens(s, all))
	}
	return said
}

// VersionFor returns the version for an incarnation's members. If a change is refused or not prepared, recreated Pods keep
// the version that the cluster runs. A restored cluster starts with the version of the spec.
func VersionFor(s State, incarnation int32) string {
	wanted := s.Spec.EtcdVersion()
	if !s.Formed() || incarnation != s.Incarnation {
		return wanted
	}
	lowest, highest := Versions(s)
	if lowest != "" && lowest != wanted && (RefusedUpgrade(s, lowest, highest, wanted) != "" || !readyFor(s, lowest, highest)) {
		return lowest
	}
	return wanted
}

// ImageFor returns the image for an incarnation's members. While a version is kept, it is the image that the members run: the suffix of a
// registry, the tag and the digest in the spec are those of another version, so the image made from them may not exist.
func (s State) ImageFor(incarnation int32) string {
	version := VersionFor(s, incarnation)
	image := s.Spec.ImageOf(version)
	if version == s.Spec.EtcdVersion() {
		return image
	}
	return cmp.Or(imageRun(s, version, image), image)
}

// WhyAside says what a volume is that is set aside.
func WhyAside(s State, name string) string {
	switch m, _ := Find(s, name); {
	case OnAnotherVolume(s, m) && mayBeForced(s, m):
		return "which may have a cluster of its own, because " + CauseVolumeForced
	case OnAnotherVolume(s, m):
		return "which is not the one that the member served on"
	}
	return "which has the data from before the restore or recovery"
}

// lacksCA reports whether a member that runs trusts other CAs than its Secrets hold, and would have its data after a restart. The others may refuse it
// for that reason alone, so recreateUnhealthy restarts it first. A Pod that cannot be stopped does not run any more for the operator.
func lacksCA(s State, m Member) bool {
	return m.Pod == PodRunning && !m.NodeSilent && TrustsOldCA(s, m) && KeepsData(s, m)
}

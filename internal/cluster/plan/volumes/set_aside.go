package volumes

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// A restore or a recovery replaces the data of the cluster. The volumes with the data from before are set aside for some
// time, because they are the only copy of it. They belong to no member any more, and nothing waits for them.

// ReplacedByRecovery are the names of the volumes whose data the recovery continues without, also of those that are lost and may come back. The
// operator marks their claims before the survivor starts alone, because an old status that comes back later does not have the recovery.
func ReplacedByRecovery(s state.State) []string {
	return state.MemberNames(s.Where(func(m state.Member) bool {
		marked := m.Recovered && (s.Recovery == nil || s.Recovery.StartedAt == nil || !m.RecoveredAt.Before(s.Recovery.StartedAt.Time))
		return m.Volume != state.VolumeNone && !marked && state.RecoveryReplaces(s, m)
	}))
}

// SetAsideOther sets aside a volume that is not the one that its member served on. A person has created it, perhaps from a copy, so it is
// kept. The member has lost its data, and a new one takes its place.
func SetAsideOther(s state.State) steps.Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Membership() {
		if aside := (steps.SetAsideVolume{Name: m.Name}); m.Volume == state.VolumePresent && state.OnAnotherVolume(s, m) && waits.May(s, aside) {
			return aside
		}
	}
	return nil
}

// DeleteSetAside deletes volumes whose time is over. The cluster is at size and well when this rule is asked.
func DeleteSetAside(s state.State) steps.Step {
	if !s.MembershipKnown || !state.LeadsClients(s) {
		return nil
	}
	for _, v := range s.SetAside {
		step := steps.DeleteVolume{Name: v.Name, Reason: v1beta2.ReasonScaling}
		if m, _ := state.Find(s, v.Name); m.Pod != state.PodNone {
			continue // it may run on that volume
		}
		if slices.Contains(s.RestoredVolumes, v.Name) {
			continue // it may be the last copy of what a person wants back
		}
		if !v.Deleting && clock.Elapsed(v.Since, s.Now) >= s.Spec.KeepReplacedVolumes() && waits.May(s, step) {
			return step
		}
	}
	return nil
}

// KeptUntilOf returns until when a volume that was set aside is kept.
func KeptUntilOf(s state.State, v state.SetAside) time.Time {
	return v.Since.Add(s.Spec.KeepReplacedVolumes())
}

// KeptUntil returns until when a volume that was set aside is kept; false for any other volume.
func KeptUntil(s state.State, name string) (time.Time, bool) {
	i := slices.IndexFunc(s.SetAside, func(v state.SetAside) bool { return v.Name == name })
	if i < 0 {
		return time.Time{}, false
	}
	return KeptUntilOf(s, s.SetAside[i]), true
}

// StillKept reports whether the time of a volume that was set aside is not over by another clock than the operator's.
func StillKept(s state.State, name string, now time.Time) bool {
	until, is := KeptUntil(s, name)
	return is && clock.Ahead(until, now)
}

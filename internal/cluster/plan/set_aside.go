package plan

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A restore or a recovery replaces the data of the cluster. The volumes with the data from before are set aside for some
// time, because they are the only copy of it. They belong to no member any more, and nothing waits for them.

// SetAsideVolume takes a volume from the members' volumes and keeps it for some time.
type SetAsideVolume struct{ Name string }

func (step SetAsideVolume) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator keeps volume " + step.Name + ", " + state.WhyAside(s, step.Name) + ", for " + s.Spec.KeepReplacedVolumes().String() + ".",
		Requeue: state.RequeueSoon,
	}, "KeepingVolume", planning.Volume(step.Name))
}

// ReplacedByRecovery are the names of the volumes whose data the recovery continues without, also of those that are lost and may come back. The
// operator marks their claims before the survivor starts alone, because an old status that comes back later does not have the recovery.
func ReplacedByRecovery(s state.State) []string {
	return state.MemberNames(s.Where(func(m state.Member) bool {
		marked := m.Recovered && (s.Recovery == nil || s.Recovery.StartedAt == nil || !m.RecoveredAt.Before(s.Recovery.StartedAt.Time))
		return m.Volume != state.VolumeNone && !marked && state.RecoveryReplaces(s, m)
	}))
}

// setAsideOther sets aside a volume that is not the one that its member served on. A person has created it, perhaps from a copy, so it is
// kept. The member has lost its data, and a new one takes its place.
func setAsideOther(s state.State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.Membership() {
		if aside := (SetAsideVolume{Name: m.Name}); m.Volume == state.VolumePresent && state.OnAnotherVolume(s, m) && may(s, aside) {
			return aside
		}
	}
	return nil
}

// waitForSetAside reports an old volume that is yet to be set aside. Its Pod object may still be there. Otherwise the API server refuses
// the change, or another party reverses it.
func waitForSetAside(s state.State, m state.Member) Step {
	wait := Wait{Reason: v1beta2.ReasonRecovering, Message: "The operator has yet to set volume " + m.Name + " aside, which has the data from before the recovery."}
	if m.Pod == state.PodNone && !may(s, SetAsideVolume{Name: m.Name}) {
		wait.Stalled = true
		wait.Message += " The API server refuses that, or another party reverses it. The members serve, and the operator deletes nothing. " +
			"Exempt the PersistentVolumeClaims of this cluster from what is in the way, or delete this one to give up its data."
	}
	return wait
}

// waitForOther reports that a volume of unknown data keeps a member from being replaced: the operator would delete it afterwards.
func waitForOther(s state.State, m state.Member) Step {
	return Wait{
		Reason: v1beta2.ReasonAnotherVolume, Stalled: true,
		Message: "Member " + m.Name + " must be replaced, because " + state.CauseVolumeOther + ". The operator cannot set PersistentVolumeClaim " + m.Name +
			" aside: the API server refuses that, or another party reverses it. " + state.Impact(s) + " Exempt the PersistentVolumeClaims of this cluster from what is in the way, or delete this one.",
	}
}

// deleteSetAside deletes volumes whose time is over. The cluster is at size and well when this rule is asked.
func deleteSetAside(s state.State) Step {
	if !s.MembershipKnown || !state.LeadsClients(s) {
		return nil
	}
	for _, v := range s.SetAside {
		step := DeleteVolume{Name: v.Name, Reason: v1beta2.ReasonScaling}
		if m, _ := state.Find(s, v.Name); m.Pod != state.PodNone {
			continue // it may run on that volume
		}
		if !v.Deleting && clock.Elapsed(v.Since, s.Now) >= s.Spec.KeepReplacedVolumes() && may(s, step) {
			return step
		}
	}
	return nil
}

func keptUntilOf(s state.State, v state.SetAside) time.Time {
	return v.Since.Add(s.Spec.KeepReplacedVolumes())
}

// KeptUntil returns until when a volume that was set aside is kept; false for any other volume.
func KeptUntil(s state.State, name string) (time.Time, bool) {
	i := slices.IndexFunc(s.SetAside, func(v state.SetAside) bool { return v.Name == name })
	if i < 0 {
		return time.Time{}, false
	}
	return keptUntilOf(s, s.SetAside[i]), true
}

// StillKept reports whether the time of a volume that was set aside is not over by another clock than the operator's.
func StillKept(s state.State, name string, now time.Time) bool {
	until, is := KeptUntil(s, name)
	return is && clock.Ahead(until, now)
}

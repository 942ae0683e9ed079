package plan

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A restore or a recovery replaces the data of the cluster. The volumes with the data from before are set aside for some
// time, because they are the only copy of it. They belong to no member any more, and nothing waits for them.

// SetAside is such a volume.
type SetAside struct {
	Name string
	// Since is when it was set aside.
	Since    time.Time
	Deleting bool
	// Kept: it outlives the EtcdCluster.
	Kept bool
}

// SetAsideVolume takes a volume from the members' volumes and keeps it for some time.
type SetAsideVolume struct{ Name string }

func (step SetAsideVolume) describe(s State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator keeps volume " + step.Name + ", " + s.whyAside(step.Name) + ", for " + s.Spec.KeepReplacedVolumes().String() + ".",
		Requeue: requeueSoon,
	}, "KeepingVolume", planning.Volume(step.Name))
}

// whyAside says what a volume is that is set aside.
func (s State) whyAside(name string) string {
	switch m, _ := s.member(name); {
	case s.OnAnotherVolume(m) && s.mayBeForced(m):
		return "which may have a cluster of its own, because " + volumeForced
	case s.OnAnotherVolume(m):
		return "which is not the one that the member served on"
	}
	return "which has the data from before the restore or recovery"
}

// setsAside returns whether a volume that no member uses any more has data that a restore or a recovery replaced.
func (s State) setsAside(m Member) bool {
	return s.Spec.KeepReplacedVolumes() > 0 && (s.recoveryReplaces(m) || m.Recovered || m.WasSetAside || m.Incarnation < s.Incarnation)
}

// recoveryReplaces returns whether the recovery that the status names continues without the data of a member: of each voter, and of each other
// one whose volume is not younger, because a learner may have the last copy of a write, too. When a recovery is complete, all such volumes are set
// aside, and a volume with the name of an old one is of a new member.
func (s State) recoveryReplaces(m Member) bool {
	r := s.Recovery
	if r == nil || r.Step == v1beta2.RecoveryComplete || m.Incarnation != s.Incarnation || m.Name == r.Member {
		return false
	}
	unknown := r.StartedAt == nil && len(r.Voters) == 0 // an earlier release has begun it
	before := r.StartedAt != nil && !m.VolumeCreated.IsZero() && !m.VolumeCreated.After(r.StartedAt.Time) && !m.VolumeUnused
	return unknown || before || slices.Contains(r.Voters, m.Name)
}

// ReplacedByRecovery are the names of the volumes whose data the recovery continues without, also of those that are lost and may come back. The
// operator marks their claims before the survivor starts alone, because an old status that comes back later does not have the recovery.
func (s State) ReplacedByRecovery() []string {
	return memberNames(s.where(func(m Member) bool {
		marked := m.Recovered && (s.Recovery == nil || s.Recovery.StartedAt == nil || !m.RecoveredAt.Before(s.Recovery.StartedAt.Time))
		return m.Volume != VolumeNone && !marked && s.recoveryReplaces(m)
	}))
}

// setAsideOther sets aside a volume that is not the one that its member served on. A person has created it, perhaps from a copy, so it is
// kept. The member has lost its data, and a new one takes its place.
func setAsideOther(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, m := range s.membership() {
		if aside := (SetAsideVolume{Name: m.Name}); m.Volume == VolumePresent && s.OnAnotherVolume(m) && s.may(aside) {
			return aside
		}
	}
	return nil
}

// waitForSetAside reports an old volume that is yet to be set aside. Its Pod object may still be there. Otherwise the API server refuses
// the change, or another party reverses it.
func (s State) waitForSetAside(m Member) Step {
	wait := Wait{Reason: v1beta2.ReasonRecovering, Message: "The operator has yet to set volume " + m.Name + " aside, which has the data from before the recovery."}
	if m.Pod == PodNone && !s.may(SetAsideVolume{Name: m.Name}) {
		wait.Stalled = true
		wait.Message += " The API server refuses that, or another party reverses it. The members serve, and the operator deletes nothing. " +
			"Exempt the PersistentVolumeClaims of this cluster from what is in the way, or delete this one to give up its data."
	}
	return wait
}

// waitForOther reports that a volume of unknown data keeps a member from being replaced: the operator would delete it afterwards.
func (s State) waitForOther(m Member) Step {
	return Wait{
		Reason: v1beta2.ReasonAnotherVolume, Stalled: true,
		Message: "Member " + m.Name + " must be replaced, because " + volumeOther + ". The operator cannot set PersistentVolumeClaim " + m.Name +
			" aside: the API server refuses that, or another party reverses it. " + s.impact() + " Exempt the PersistentVolumeClaims of this cluster from what is in the way, or delete this one.",
	}
}

// deleteSetAside deletes volumes whose time is over. The cluster is at size and well when this rule is asked.
func deleteSetAside(s State) Step {
	if !s.MembershipKnown || !s.leadsClients() {
		return nil
	}
	for _, v := range s.SetAside {
		step := DeleteVolume{Name: v.Name, Reason: v1beta2.ReasonScaling}
		if m, _ := s.member(v.Name); m.Pod != PodNone {
			continue // it may run on that volume
		}
		if !v.Deleting && clock.Elapsed(v.Since, s.Now) >= s.Spec.KeepReplacedVolumes() && s.may(step) {
			return step
		}
	}
	return nil
}

// leadsClients returns whether the client Service selects the current members, so that the data from before is not needed
// any more. A Service of something else never does, and a person has been told.
func (s State) leadsClients() bool {
	return s.Services.ClientIncarnation == s.Incarnation || s.IsForeign("Service", s.ClientService())
}

func (s State) keptUntil(v SetAside) time.Time { return v.Since.Add(s.Spec.KeepReplacedVolumes()) }

func (s State) isAside(name string) bool {
	return slices.ContainsFunc(s.SetAside, func(v SetAside) bool { return v.Name == name })
}

// KeptUntil returns until when a volume that was set aside is kept; false for any other volume.
func (s State) KeptUntil(name string) (time.Time, bool) {
	i := slices.IndexFunc(s.SetAside, func(v SetAside) bool { return v.Name == name })
	if i < 0 {
		return time.Time{}, false
	}
	return s.keptUntil(s.SetAside[i]), true
}

// StillKept reports whether the time of a volume that was set aside is not over by another clock than the operator's.
func (s State) StillKept(name string, now time.Time) bool {
	until, is := s.KeptUntil(name)
	return is && clock.Ahead(until, now)
}

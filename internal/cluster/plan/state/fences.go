package state

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// ReadOnlyFence returns the ID of the fence of spec.readOnly.
func ReadOnlyFence(s State) etcd.ID { return etcd.FenceID(s.UID) }

// ReadOnlyAlarm returns the alarm that is the fence of spec.readOnly.
func ReadOnlyAlarm(s State) etcd.Alarm {
	return etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: ReadOnlyFence(s)}
}

// ReadOnlyBySpec reports whether the fence of spec.readOnly is on. The spec may not ask for it any more.
func ReadOnlyBySpec(s State) bool { return slices.Contains(Fences(s), ReadOnlyAlarm(s)) }

// SwitchesOver reports whether an EtcdBackup has fenced the members for a switchover. Only backup-operator takes that fence back.
func SwitchesOver(s State) bool {
	return slices.ContainsFunc(Fences(s), func(a etcd.Alarm) bool { return IsSwitchover(s, a) })
}

// IsSwitchover reports whether an alarm is the fence of a switchover of this cluster. One from a snapshot is not.
func IsSwitchover(s State, a etcd.Alarm) bool {
	id, err := strconv.ParseUint(s.ClusterID, 16, 64)
	return err == nil && a.IsSwitchover(etcd.ID(id))
}

// ReadOnly reports whether etcd refuses writes until a person changes the spec that asks for it.
func (s State) ReadOnly() bool { return ReadOnlyBySpec(s) || SwitchesOver(s) }

// ServesUnready reports whether the client Service must select members whose Pods are not ready. Pods of an earlier operator are not ready while
// writes are refused. After that, the Service waits until they are.
func ServesUnready(s State) bool {
	if !slices.ContainsFunc(s.Current(), ProbesAlarm) {
		return false
	}
	stillUnready := func(m Member) bool { return m.ProbesAlarm && m.InService && !m.PodReady }
	return s.Spec.ReadOnly || s.ReadOnly() || s.Services.ClientUnready && slices.ContainsFunc(s.Current(), stillUnready)
}

// ProbesAlarm also counts a member that does not vote yet: the client Service and the budget are ready before it does.
func ProbesAlarm(m Member) bool { return m.ProbesAlarm }

// ServicesCurrent reports of the two Services whether nothing has to be done about them.
func ServicesCurrent(s State) (headless, forClients bool) {
	var incarnation int32
	if s.Formed() {
		incarnation = s.Incarnation
	}
	headless = s.Services.HeadlessCurrent || IsForeign(s, "Service", s.Name)
	forClients = s.Services.ClientCurrent && s.Services.ClientUnready == ServesUnready(s) &&
		s.Services.ClientIncarnation == incarnation && s.Services.ClientClusterID == IDForClients(s) && s.Services.ClientRestoreUID == MadeBy(s)
	return headless, forClients || IsForeign(s, "Service", s.ClientService())
}

// RefusedUpgrade refuses another minor version while there are foreign members, because etcd's version is that of its lowest
// member, and the operator cannot see what they run. It also refuses a version in which a read-only cluster would take writes.
func RefusedUpgrade(s State, lowest, highest, to string) string {
	if (s.Spec.ReadOnly || s.ReadOnly()) && lowest != "" && !Older(lowest, FencesFrom) && Older(to, FencesFrom) {
		return fmt.Sprintf("The cluster is read-only, and a refusal of writes does not hold before etcd %s. Set spec.readOnly to false, and call off the switchover if there is one, before you change to %s.", FencesFrom, to)
	}
	if len(s.ForeignMembers) > 0 && lowest != "" && Minor(to) != Minor(lowest) {
		return fmt.Sprintf("Member %s is in the cluster, and the operator did not add it and cannot see its version. A change to %s waits until it is removed.", s.ForeignMembers[0].Label(), Minor(to))
	}
	return UpgradeRefusal(lowest, highest, to)
}

// RestoreFence returns the ID of the fence of the restore under way.
func RestoreFence(s State) etcd.ID { return etcd.FenceID(s.Restore.UID) }

// FencesFrom is the first version of etcd in which a fence holds. Before, a NOSPACE alarm behind it lets deletions through, and while any alarm is
// on, a client without a user can add users (etcd-io/etcd#22386).
const FencesFrom = "3.6.0"

// MayFence reports whether the old members can be fenced: a quorum of them answers, and the fence holds in each version that they run. Foreign
// members have that version, too, if the data of the operator's own members has it: etcd then lets no older member join.
func MayFence(s State) bool {
	lowest, known := Versions(s)
	if !s.Formed() || !s.MembershipKnown || known == "" || etcdversion.Older(lowest, FencesFrom) || slices.ContainsFunc(s.Current(), MayBeOlder) {
		return false
	}
	return len(s.ForeignMembers) == 0 || !slices.ContainsFunc(s.Membership(), func(m Member) bool {
		return m.StorageVersion == "" || etcdversion.Older(m.StorageVersion, FencesFrom)
	})
}

// MayBeOlder reports whether the Pod of a member that has not answered runs an etcd in which a fence does not hold.
func MayBeOlder(m Member) bool { return mayBeBefore(m, FencesFrom) }

func mayBeBefore(m Member, from string) bool {
	version, known := etcdversion.OfImage(m.PodImage)
	return m.Version == "" && m.Pod != PodNone && known && etcdversion.Older(version, from)
}

// TooOld reports whether a member runs an etcd in which a fence does not hold. Its liveness probe fails behind one, too.
func TooOld(s State) bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Version != "" && etcdversion.Older(m.Version, FencesFrom) })
}

// LastRevision returns the last revision that the old members acknowledged: what etcd answered to the fence of this pass, or what the status has, or
// the largest that a member reports which has applied the fence. Once they were fenced, each member counts. It is 0 if they were not.
func LastRevision(s State) int64 {
	if !s.Switching() {
		return 0
	}
	last := max(s.Restore.LastRevision, s.FencedAt)
	for _, m := range s.Current() {
		// If a person disarms the fence and the quorum is lost after that, only the revision of a member tells of the writes in between.
		if s.Restore.LastRevision > 0 || slices.Contains(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: RestoreFence(s)}) {
			last = max(last, m.Revision)
		}
	}
	return last
}

// WhatIsLost says up to which revision the old members acknowledged writes, and how much of it neither the safety snapshot nor an archive has.
func WhatIsLost(s State) string {
	last := LastRevision(s)
	if last == 0 {
		return "The old members acknowledge no more writes."
	}
	said := fmt.Sprintf("The old members acknowledge no write after revision %d.", last)
	if s.Request == nil {
		return said
	}
	saved, where := s.Request.Archived, "The archive"
	if s.Request.Saved != nil && s.Request.Saved.Revision > saved {
		saved, where = s.Request.Saved.Revision, "The safety snapshot"
	}
	if saved == 0 {
		return said
	}
	return said + fmt.Sprintf(" %s ends at revision %d, so it lacks %d of their revisions.", where, saved, max(last-saved, 0))
}

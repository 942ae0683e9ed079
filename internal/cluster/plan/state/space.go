package state

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// catchUpEntries is how many entries of its log etcd keeps for members that are behind. One that is further behind gets a snapshot.
const catchUpEntries = 5000

// defragmentLosesData is the defect of etcd by which a member that is defragmented while it receives a snapshot loses its data.
const defragmentLosesData = "https://github.com/etcd-io/etcd/issues/20271"

// MayReceiveSnapshot reports whether a member is so far behind the others that the leader may be sending it a snapshot, or is close to it,
// on a release in which a defragmentation then loses the data of that member.
func MayReceiveSnapshot(s State) bool {
	affected := slices.ContainsFunc(etcdversion.Defects(), func(d etcdversion.Defect) bool {
		return d.Source == defragmentLosesData && d.Affects(LowestVersion(s))
	})
	return affected && slices.ContainsFunc(s.Membership(), func(m Member) bool {
		return m.Started && Applied(s)-m.AppliedIndex > catchUpEntries/2
	})
}

// Defragmented is when members were defragmented last.
func Defragmented(members []v1beta2.MemberStatus) map[string]time.Time {
	var at map[string]time.Time
	for _, m := range members {
		if m.DefragmentedAt == nil {
			continue
		}
		if at == nil {
			at = map[string]time.Time{}
		}
		at[m.Name] = m.DefragmentedAt.Time
	}
	return at
}

// DefragmentedAt returns when a member was defragmented last.
func DefragmentedAt(s State, name string) time.Time { return clock.Done(s.Defragmented[name], s.Now) }

const (
	// RoomInFile is how much of the quota the file of a member may take, in percent, if it has room, and roomInUse the part in use. The
	// file of one that is defragmented is a little larger than what was in use.
	RoomInFile, roomInUse = 90, 80
	// compactFrom is how much of the quota must be in use, in percent, for revisions to be forgotten: otherwise the
	// free space is enough.
	compactFrom = 50
	// compactPause between two compactions, while users delete keys to make room.
	compactPause = 20 * time.Second
	// CompactGrace is how long members may take to free what was forgotten.
	CompactGrace = 30 * time.Second
	// CompactBegin is how long it takes at least until that shows.
	CompactBegin = 3 * time.Second
	// defragmentPause is the interval between defragmentations of a member, if the last one did not make room. It is
	// defragmentAgain if history was compacted since.
	defragmentPause, defragmentAgain = 2 * time.Minute, time.Minute
	// RaiseGrace is how long after a compaction a restart with a larger quota may begin, if the compaction did not make room. After that, the
	// operator compacts again: something may keep it from restarting members.
	RaiseGrace = 5 * time.Minute
)

// Crowded reports whether a member says that too much of its quota is in use.
func Crowded(s State) bool {
	return slices.ContainsFunc(s.Membership(), func(m Member) bool { return !Fits(s, m, m.DBSizeInUse, roomInUse) })
}

// NeedsRoom reports whether a member is to be defragmented, because its file is too large and its last defragmentation was before the pause.
func NeedsRoom(s State, m Member) bool {
	if Fits(s, m, m.DBSize, RoomInFile) {
		return false
	}
	since := s.Now.Sub(DefragmentedAt(s, m.Name))
	return since > defragmentPause || since > defragmentAgain && CompactedFor(s, since)
}

// Untried says whether no member has been defragmented since the last compaction without making room. The size in use does
// not show it: etcd updates it with the next write, which it refuses. Only a defragmentation shows it.
func Untried(s State) bool {
	at, compacted := compactedAt(s)
	if !compacted {
		return false
	}
	return !slices.ContainsFunc(s.Membership(), func(m Member) bool {
		return DefragmentedAt(s, m.Name).After(at) && !Fits(s, m, m.DBSize, RoomInFile)
	})
}

// compactedAt returns when the last compaction was. A time in the future comes from a clock that was ahead. It counts as so long ago that members
// have freed what was forgotten.
func compactedAt(s State) (at time.Time, compacted bool) {
	if s.Space == nil || s.Space.CompactedAt == nil {
		return time.Time{}, false
	}
	if at = s.Space.CompactedAt.Time; at.After(s.Now) {
		at = s.Now.Add(-CompactGrace)
	}
	return at, true
}

// Compaction is the revision to compact to, and whether that is due. It is not while it is unknown whether the last one made room: keys that are
// deleted slowly would otherwise put the defragmentation off for ever.
func Compaction(s State) (revision int64, due bool) {
	members := s.Membership()
	needed := slices.ContainsFunc(members, func(m Member) bool { return !Fits(s, m, m.DBSizeInUse, compactFrom) })
	if len(members) == 0 || !needed || s.Spec.NoSpaceAction() != v1beta2.NoSpaceCompact {
		return 0, false
	}
	oldest := slices.MinFunc(members, func(a, b Member) int { return int(a.Revision - b.Revision) })
	revision = oldest.Revision - s.Spec.KeepRevisions()
	if revision <= 0 || CompactedFor(s, compactPause) || Crowded(s) && Untried(s) {
		return 0, false
	}
	return revision, s.Space == nil || revision > s.Space.CompactedRevision
}

// CompactedFor says whether the last compaction is no longer ago than a time.
func CompactedFor(s State, d time.Duration) bool {
	at, compacted := compactedAt(s)
	return compacted && s.Now.Sub(at) < d
}

// Fits says whether so many bytes of a member's database take at most a part of its quota, in percent. If the
// quota is unknown, they do not.
func Fits(s State, m Member, bytes int64, percent int64) bool {
	quota := QuotaOf(s, m)
	return quota < 0 || bytes <= quota/100*percent
}

// QuotaVariable sets the space quota of an etcd.
const QuotaVariable = "ETCD_QUOTA_BACKEND_BYTES"

// QuotaOf is a member's quota: as it reports since etcd 3.6, and as in its Pod before that. The spec may ask for another one
// by now. It is negative without a quota, and 0 if the Pod takes it from another source.
func QuotaOf(s State, m Member) int64 {
	switch {
	case m.DBQuota != 0:
		return m.DBQuota
	case m.PodQuota != nil:
		return *m.PodQuota
	}
	return AskedQuota(s)
}

// AskedQuota is the quota that the spec asks for, as quotaOf words it.
func AskedQuota(s State) int64 {
	if quota := s.Spec.QuotaBackendBytes(); quota != 0 {
		return quota
	}
	for _, env := range s.PodPolicy().EtcdEnv {
		if env.Name != QuotaVariable {
			continue
		}
		quota, err := strconv.ParseInt(env.Value, 10, 64)
		if err != nil {
			return 0
		}
		if quota != 0 {
			return quota
		}
	}
	return etcd.DefaultQuota
}

// QuotaIsRaised reports whether a member has yet to be restarted with a larger quota.
func QuotaIsRaised(s State) bool {
	asked := AskedQuota(s)
	return slices.ContainsFunc(s.Membership(), func(m Member) bool { return m.Outdated && QuotaOf(s, m) > 0 && QuotaOf(s, m) < asked })
}

// QuotaField names the field of the spec that sets the quota, or that can set it.
func QuotaField(s State) string {
	if slices.ContainsFunc(s.PodPolicy().EtcdEnv, func(e corev1.EnvVar) bool { return e.Name == QuotaVariable }) {
		return QuotaVariable + " in spec.pod.etcdEnv"
	}
	return "spec.etcd.quotaBackendBytes"
}

// Alarms of a kind that are on, without fences.
func Alarms(s State, kind etcd.AlarmKind) []etcd.Alarm {
	return slices.DeleteFunc(alarms(s, kind), etcd.Alarm.IsFence)
}

// Fences that are on.
func Fences(s State) []etcd.Alarm {
	return slices.DeleteFunc(alarms(s, etcd.AlarmCorrupt), func(a etcd.Alarm) bool { return !a.IsFence() })
}

// alarms of a kind that are on, as the leader reports them. Without a leader among the own members, all that serve count, and if none does, all. A member
// that its peers do not reach may report an alarm that was taken back.
func alarms(s State, kind etcd.AlarmKind) (on []etcd.Alarm) {
	tell := s.Current()
	if leader, ok := s.Leader(); ok {
		tell = []Member{leader}
	} else if serve := slices.DeleteFunc(slices.Clone(tell), func(m Member) bool { return !m.Serving }); len(serve) > 0 {
		tell = serve
	}
	for _, m := range tell {
		for _, alarm := range m.Alarms {
			if alarm.Kind == kind && !slices.Contains(on, alarm) {
				on = append(on, alarm)
			}
		}
	}
	return on
}

// StorageRequest is how large a member's volume is to be.
func StorageRequest(s State) resource.Quantity {
	if given := s.PodPolicy().PersistentVolumeClaimSpec; given != nil {
		if size, ok := given.Resources.Requests[corev1.ResourceStorage]; ok {
			return size
		}
	}
	return defaultStorage
}

// BytesOf writes a number of bytes as a quantity of Kubernetes.
func BytesOf(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }

// Applied is the highest index in the raft log that a member has applied.
func Applied(s State) int64 {
	var highest int64
	for _, m := range s.Membership() {
		highest = max(highest, m.AppliedIndex)
	}
	return highest
}

package plan

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// When a database file has reached its space quota, etcd raises an alarm and refuses writes. What is free in the file
// counts as used, so room is made in three steps, each seen in what the members say:
//
//	revisions are forgotten ── less is in use ── members are defragmented ── the files are smaller ── the alarm is disarmed
//
// If that does not make room, a message names what a person can do.

const (
	// A member has room if its file, or the part in use, takes at most this share of the quota, in percent. The
	// file of one that is defragmented is a little larger than what was in use.
	roomInFile, roomInUse = 90, 80
	// compactFrom is how much of the quota must be in use, in percent, for revisions to be forgotten: otherwise the
	// free space is enough.
	compactFrom = 50
	// compactPause between two compactions, while users delete keys to make room. compactGrace is how long members
	// may take to free what was forgotten, and compactBegin how long it takes at least until that shows.
	compactPause, compactGrace, compactBegin = 20 * time.Second, 30 * time.Second, 3 * time.Second
	// defragmentPause is the interval between defragmentations of a member, if the last one did not make room. It is
	// defragmentAgain if history was compacted since.
	defragmentPause, defragmentAgain = 2 * time.Minute, time.Minute
	// raiseGrace is how long after a compaction a restart with a larger quota may begin, if the compaction did not make room. After that, the
	// operator compacts again: something may keep it from restarting members.
	raiseGrace = 5 * time.Minute
)

// reclaimSpace makes room if the space quota is used up, as far as the spec allows. If it cannot, it returns nil. When this
// rule is asked, all members are healthy.
func reclaimSpace(s State) Step {
	alarms := s.Alarms(etcd.AlarmNoSpace)
	if s.readOnly() { // etcd compacts nothing, and nothing is written
		return nil
	}
	if len(alarms) == 0 || !s.MembershipKnown || len(s.ForeignMembers) > 0 || s.Spec.NoSpaceAction() == v1beta2.NoSpaceWait {
		return nil
	}
	if !slices.ContainsFunc(s.membership(), func(m Member) bool { return !s.fits(m, m.DBSize, roomInFile) }) {
		return DisarmAlarm{Alarm: alarms[0], Reason: v1beta2.ReasonNoSpace}
	}
	if s.compactedFor(raiseGrace) && !s.Space.CompactedAt.After(s.Now) && !s.untried() && s.quotaIsRaised() {
		return nil // the restart with the new quota makes room
	}
	if revision, due := s.compaction(); due {
		return CompactHistory{Revision: revision}
	}
	crowded := s.crowded()
	if s.compactedFor(compactBegin) || (crowded && s.compactedFor(compactGrace)) {
		return Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. The members are freeing the compacted history."}
	}
	if crowded && !s.untried() {
		return nil
	}
	if s.mayReceiveSnapshot() {
		return Wait{Reason: v1beta2.ReasonNoSpace, Message: "The space quota is used up, and etcd refuses writes. A member is behind the others. The operator defragments when it has caught up. Otherwise etcd " + s.lowestVersion() + " can lose the data of a member that receives a snapshot (etcd-io/etcd#20271)."}
	}
	return s.defragmentNext(v1beta2.ReasonNoSpace, s.needsRoom)
}

// crowded reports whether a member says that too much of its quota is in use.
func (s State) crowded() bool {
	return slices.ContainsFunc(s.membership(), func(m Member) bool { return !s.fits(m, m.DBSizeInUse, roomInUse) })
}

// needsRoom reports whether a member is to be defragmented, because its file is too large and its last defragmentation was before the pause.
func (s State) needsRoom(m Member) bool {
	if s.fits(m, m.DBSize, roomInFile) {
		return false
	}
	since := s.Now.Sub(s.defragmentedAt(m.Name))
	return since > defragmentPause || since > defragmentAgain && s.compactedFor(since)
}

// CompactHistory has etcd forget what was before a revision.
type CompactHistory struct{ Revision int64 }

func (step CompactHistory) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonNoSpace,
		Message: fmt.Sprintf("The space quota is used up. The operator is compacting the history before revision %d.", step.Revision),
		Requeue: requeueStarting,
	}, "CompactingHistory", cluster)
}

// DisarmAlarm takes an alarm off.
type DisarmAlarm struct {
	Alarm  etcd.Alarm
	Reason string
}

func (step DisarmAlarm) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  step.Reason,
		Message: "The operator is disarming alarm " + string(step.Alarm.Kind) + ", because its cause is removed.",
		Requeue: requeueSoon,
	}, "DisarmingAlarm", cluster)
}

// outOfSpace reports that the space quota is used up, and what a person can do. The operator never deletes keys.
func outOfSpace(s State) Step {
	if len(s.Alarms(etcd.AlarmNoSpace)) == 0 || !s.MembershipKnown || s.readOnly() {
		return nil
	}
	full := slices.MaxFunc(s.membership(), func(a, b Member) int { return int(a.DBSize - b.DBSize) })
	text := fmt.Sprintf("The space quota is used up, and etcd refuses writes. The database of member %s has %s, of which %s are in use. ",
		full.Name, bytesOf(full.DBSize), bytesOf(full.DBSizeInUse))
	switch s.Spec.NoSpaceAction() {
	case v1beta2.NoSpaceWait:
		text += "Set spec.noSpace.action to Compact, or raise " + s.quotaField() + ". You can also compact, defragment and disarm the alarm yourself."
	case v1beta2.NoSpaceDefragment:
		text += "Defragmentation alone does not make room. Set spec.noSpace.action to Compact, or raise " + s.quotaField() + "."
	default:
		text += fmt.Sprintf("Compacting all but %d revisions does not make room. Delete keys, or lower spec.noSpace.keepRevisions (0 frees deleted keys at once), or raise %s.",
			s.Spec.KeepRevisions(), s.quotaField())
	}
	return Wait{Reason: v1beta2.ReasonNoSpace, Message: text + " Reads and deletions still work.", Stalled: true}
}

// quotaTooSmall reports a quota that is below what is in use of a member's database. etcd refuses the next write, and no
// defragmentation helps.
func quotaTooSmall(s State) Step {
	for _, m := range s.membership() {
		if quota := s.quotaOf(m); m.Answers && quota > 0 && m.DBSizeInUse > quota {
			return Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: fmt.Sprintf("The space quota of member %s is %s, but its database already uses %s. etcd will refuse all writes. Raise %s.",
					m.Name, bytesOf(quota), bytesOf(m.DBSizeInUse), s.quotaField()),
			}
		}
	}
	return nil
}

// quotaTooLow reports that the spec lowers the quota below what is in use of a member's database. The first member that
// restarts with it would raise the alarm for all.
func (s State) quotaTooLow() Step {
	asked := s.askedQuota()
	if asked <= 0 {
		return nil
	}
	for _, m := range s.membership() {
		if quota := s.quotaOf(m); m.Answers && m.DBSizeInUse > asked && (quota > asked || quota < 0) {
			return Wait{
				Reason: v1beta2.ReasonNoSpace, Stalled: true,
				Message: fmt.Sprintf("The spec asks for a space quota of %s, and %s of the database of member %s are in use. etcd would refuse all writes, so the operator restarts no member. Raise %s, or delete keys.",
					bytesOf(asked), bytesOf(m.DBSizeInUse), m.Name, s.quotaField()),
			}
		}
	}
	return nil
}

// untried says whether no member has been defragmented since the last compaction without making room. The size in use does
// not show it: etcd updates it with the next write, which it refuses. Only a defragmentation shows it.
func (s State) untried() bool {
	at, compacted := s.compactedAt()
	if !compacted {
		return false
	}
	return !slices.ContainsFunc(s.membership(), func(m Member) bool {
		return s.defragmentedAt(m.Name).After(at) && !s.fits(m, m.DBSize, roomInFile)
	})
}

// compactedAt returns when the last compaction was. A time in the future comes from a clock that was ahead. It counts as so long ago that members
// have freed what was forgotten.
func (s State) compactedAt() (at time.Time, compacted bool) {
	if s.Space == nil || s.Space.CompactedAt == nil {
		return time.Time{}, false
	}
	if at = s.Space.CompactedAt.Time; at.After(s.Now) {
		at = s.Now.Add(-compactGrace)
	}
	return at, true
}

// compaction is the revision to compact to, and whether that is due. It is not while it is unknown whether the last one made room: keys that are
// deleted slowly would otherwise put the defragmentation off for ever.
func (s State) compaction() (revision int64, due bool) {
	members := s.membership()
	needed := slices.ContainsFunc(members, func(m Member) bool { return !s.fits(m, m.DBSizeInUse, compactFrom) })
	if len(members) == 0 || !needed || s.Spec.NoSpaceAction() != v1beta2.NoSpaceCompact {
		return 0, false
	}
	oldest := slices.MinFunc(members, func(a, b Member) int { return int(a.Revision - b.Revision) })
	revision = oldest.Revision - s.Spec.KeepRevisions()
	if revision <= 0 || s.compactedFor(compactPause) || s.crowded() && s.untried() {
		return 0, false
	}
	return revision, s.Space == nil || revision > s.Space.CompactedRevision
}

// compactedFor says whether the last compaction is no longer ago than a time.
func (s State) compactedFor(d time.Duration) bool {
	at, compacted := s.compactedAt()
	return compacted && s.Now.Sub(at) < d
}

// fits says whether so many bytes of a member's database take at most a part of its quota, in percent. If the
// quota is unknown, they do not.
func (s State) fits(m Member, bytes int64, percent int64) bool {
	quota := s.quotaOf(m)
	return quota < 0 || bytes <= quota/100*percent
}

// QuotaVariable sets the space quota of an etcd.
const QuotaVariable = "ETCD_QUOTA_BACKEND_BYTES"

// quotaOf is a member's quota: as it reports since etcd 3.6, and as in its Pod before that. The spec may ask for another one
// by now. It is negative without a quota, and 0 if the Pod takes it from another source.
func (s State) quotaOf(m Member) int64 {
	switch {
	case m.DBQuota != 0:
		return m.DBQuota
	case m.PodQuota != nil:
		return *m.PodQuota
	}
	return s.askedQuota()
}

// askedQuota is the quota that the spec asks for, as quotaOf words it.
func (s State) askedQuota() int64 {
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

// quotaIsRaised reports whether a member has yet to be restarted with a larger quota.
func (s State) quotaIsRaised() bool {
	asked := s.askedQuota()
	return slices.ContainsFunc(s.membership(), func(m Member) bool { return m.Outdated && s.quotaOf(m) > 0 && s.quotaOf(m) < asked })
}

// quotaField names the field of the spec that sets the quota, or that can set it.
func (s State) quotaField() string {
	if slices.ContainsFunc(s.PodPolicy().EtcdEnv, func(e corev1.EnvVar) bool { return e.Name == QuotaVariable }) {
		return QuotaVariable + " in spec.pod.etcdEnv"
	}
	return "spec.etcd.quotaBackendBytes"
}

// Alarms of a kind that are on, without fences.
func (s State) Alarms(kind etcd.AlarmKind) []etcd.Alarm {
	return slices.DeleteFunc(s.alarms(kind), etcd.Alarm.IsFence)
}

// fences that are on.
func (s State) fences() []etcd.Alarm {
	return slices.DeleteFunc(s.alarms(etcd.AlarmCorrupt), func(a etcd.Alarm) bool { return !a.IsFence() })
}

// alarms of a kind that are on, as the leader reports them. Without a leader among the own members, all that serve count, and if none does, all. A member
// that its peers do not reach may report an alarm that was taken back.
func (s State) alarms(kind etcd.AlarmKind) (on []etcd.Alarm) {
	tell := s.Current()
	if leader, ok := s.leader(); ok {
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

// space is the record of compactions. It is dropped when no alarm is on.
func (s State) space() *v1beta2.SpaceStatus {
	if s.answered() && len(s.Alarms(etcd.AlarmNoSpace)) == 0 {
		return nil
	}
	return s.Space.DeepCopy()
}

// RecordSpace keeps what was compacted and who was defragmented.
func RecordSpace(status *v1beta2.EtcdClusterStatus, s State, step Step) {
	at := ptr.To(metav1.NewTime(s.Now))
	switch step := step.(type) {
	case CompactHistory:
		status.Space = &v1beta2.SpaceStatus{CompactedRevision: step.Revision, CompactedAt: at}
	case DefragmentMember:
		for i := range status.MemberStatuses {
			if status.MemberStatuses[i].Name == step.Name {
				status.MemberStatuses[i].DefragmentedAt = at
			}
		}
	case EndDefragmentation:
		if status.Defragmentation != nil {
			status.Defragmentation.LastScheduleTime = ptr.To(metav1.NewTime(step.Due))
		}
	}
}

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// A fence keeps the old members from acknowledging writes while clients are led to a seed. A quorum must answer for that. Then no member has to
// stop before the seed takes over, and it does not matter which members the operator can see or stop:
//
//	 old members   serve ─────────── fenced ───────────────── stop
//	 Service       ──▶ old ────────────────┼──▶ seed
//	 step          │ Switching             │ Growing
//
// The step Switching in the status is the intent. A fence whose restore is not in that step is taken back, so the old members take writes again
// whatever ended the operator in between.

// FenceWrites refuses all writes to the members.
type FenceWrites struct {
	ID etcd.ID
	// Seed is the name of a seed that is fenced before it is the cluster; empty for the members.
	Seed string
}

func (step FenceWrites) describe(s State) planning.Description {
	return announced(s.fencing(step.ID, "The operator is refusing all writes of clients, because spec.readOnly is true.",
		"The operator is refusing writes to the old members, so that the seed takes over without losing one."), "FencingWrites", cluster)
}

// UnfenceWrites lets the members take writes again.
type UnfenceWrites struct{ ID etcd.ID }

func (step UnfenceWrites) describe(s State) planning.Description {
	bySpec := "The operator lets clients write again, because spec.readOnly is false."
	if s.Spec.ReadOnly {
		bySpec = "The operator lets clients write again, because the refusal of writes does not hold in the etcd of this cluster."
	}
	return announced(s.fencing(step.ID, bySpec, "The operator is taking back fence "+step.ID.String()+", so that the members accept writes again."), "UnfencingWrites", cluster)
}

// fencing describes a change of the fence of spec.readOnly, or of one of a restore.
func (s State) fencing(id etcd.ID, bySpec, byRestore string) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRestoring, Message: byRestore, Requeue: requeueSoon}
	if id == s.ReadOnlyFence() {
		d.Reason, d.Message = v1beta2.ReasonReadOnly, bySpec
	}
	return d
}

// RestoreFence returns the ID of the fence of the restore under way.
func (s State) RestoreFence() etcd.ID { return etcd.FenceID(s.Restore.UID) }

// WritesFenced reports whether the restore under way has fenced the old members. A quorum has accepted the fence in this attempt, as the status records,
// and a member reports it. An alarm alone proves nothing: a member that its peers do not reach reports a fence of an earlier attempt that the
// others have taken back.
func (s State) WritesFenced() bool { return s.fenceIsOn() && s.Restore.LastRevision > 0 }

// fenceIsOn reports whether a member reports the fence of the restore under way.
func (s State) fenceIsOn() bool {
	return s.switching() && slices.Contains(s.fences(), etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: s.RestoreFence()})
}

// fencesFrom is the first version of etcd in which a fence holds. Before, a NOSPACE alarm behind it lets deletions through, and while any alarm is
// on, a client without a user can add users (etcd-io/etcd#22386).
const fencesFrom = "3.6.0"

// mayFence reports whether the old members can be fenced: a quorum of them answers, and the fence holds in each version that they run. Foreign
// members have that version, too, if the data of the operator's own members has it: etcd then lets no older member join.
func (s State) mayFence() bool {
	lowest, known := s.versions()
	if !s.Formed() || !s.MembershipKnown || known == "" || etcdversion.Older(lowest, fencesFrom) || slices.ContainsFunc(s.Current(), mayBeOlder) {
		return false
	}
	return len(s.ForeignMembers) == 0 || !slices.ContainsFunc(s.membership(), func(m Member) bool {
		return m.StorageVersion == "" || etcdversion.Older(m.StorageVersion, fencesFrom)
	})
}

// mayBeOlder reports whether the Pod of a member that has not answered runs an etcd in which a fence does not hold.
func mayBeOlder(m Member) bool {
	version, known := etcdversion.OfImage(m.PodImage)
	return m.Version == "" && m.Pod != PodNone && known && etcdversion.Older(version, fencesFrom)
}

// fenceOld fences the old members. It returns nil if they are fenced, or cannot be.
func (s State) fenceOld() Step {
	if s.WritesFenced() || !s.mayFence() || s.Incarnation == s.Restore.Incarnation {
		return nil
	}
	return FenceWrites{ID: s.RestoreFence()}
}

// cannotHandOver waits for a person if the operator can neither fence the old members nor stop a quorum of them.
func (s State) cannotHandOver() Step {
	if s.mayFence() || s.WritesFenced() {
		return nil
	}
	return unstoppable(s)
}

// fencedInVain reports whether the old members refuse writes while the operator waits: for the seed, a Secret or a person, but not for an exact safety snapshot. Nothing was stopped yet, so
// they take writes again, and the restore checks everything once more.
func (s State) fencedInVain(c choice) bool {
	_, waits := c.step.(Wait)
	return waits && s.MembershipKnown && s.fenceIsOn() && s.oldQuorumRuns() && !s.waitsForExact(c.waits)
}

// takeFenceBack takes back each fence that neither a restore nor the spec asks for. If there are foreign members, another EtcdCluster may have set it
// for its own restore. Then only the fences of this EtcdCluster and of its restores are taken back.
func takeFenceBack(s State) Step {
	if !s.MembershipKnown {
		return nil
	}
	for _, fence := range s.fences() {
		asked := s.switching() && fence.Member == s.RestoreFence() || s.Spec.ReadOnly && !s.tooOld() && fence.Member == s.ReadOnlyFence()
		if !asked && (len(s.ForeignMembers) == 0 || s.ownFence(fence.Member)) {
			return UnfenceWrites{ID: fence.Member}
		}
	}
	return nil
}

// tooOld reports whether a member runs an etcd in which a fence does not hold. Its liveness probe fails behind one, too.
func (s State) tooOld() bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Version != "" && etcdversion.Older(m.Version, fencesFrom) })
}

// ownFence reports whether a fence is that of the EtcdCluster, of a restore that its status has, or of an EtcdRestore that is there. The status may be
// lost behind the fence.
func (s State) ownFence(id etcd.ID) bool {
	return id == s.ReadOnlyFence() || s.Restore != nil && id == s.RestoreFence() ||
		slices.ContainsFunc(s.Restores, func(uid types.UID) bool { return id == etcd.FenceID(uid) }) ||
		slices.ContainsFunc(s.PastRestores, func(r v1beta2.PastRestore) bool { return id == etcd.FenceID(r.UID) })
}

// lastRevision returns the last revision that the old members acknowledged: what etcd answered to the fence of this pass, or what the status has, or
// the largest that a member reports which has applied the fence. Once they were fenced, each member counts. It is 0 if they were not.
func (s State) lastRevision() int64 {
	if !s.switching() {
		return 0
	}
	last := max(s.Restore.LastRevision, s.FencedAt)
	for _, m := range s.Current() {
		// If a person disarms the fence and the quorum is lost after that, only the revision of a member tells of the writes in between.
		if s.Restore.LastRevision > 0 || slices.Contains(m.Alarms, etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: s.RestoreFence()}) {
			last = max(last, m.Revision)
		}
	}
	return last
}

// whatIsLost says up to which revision the old members acknowledged writes, and how much of it neither the safety snapshot nor an archive has.
func (s State) whatIsLost() string {
	last := s.lastRevision()
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

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// Before the first member is brought to another minor version, the data of all may have to be prepared. etcd does
// both itself, by its downgrade API, while the members serve:
//
//	down, 3.7 to 3.6:  Preparing ── enable 3.6 ── data is of 3.6 ── Ready ── roll
//	up, 3.6 to 3.7:    Preparing ── enable 3.5 ── data is of 3.5 ── Snapshotted ── cancel ── data is of 3.6 ── Ready ── roll
//
// Going up is the roundabout way past a panic. 3.7 cannot read what etcd before 3.6 wrote in its raft log, and reads
// from the last raft snapshot on. A quiet cluster may have none. When the cluster's version is lowered, every member writes
// one to disk, and from then on no member can write such entries.

// snapshotsAt is the minor version that needs such a snapshot. snapshotsVia is the version to lower the cluster to before.
const (
	snapshotsAt  = "3.7"
	snapshotsVia = "3.5"
	// silentOfDowngrade is a possible target of a downgrade. Its members do not report that a downgrade is enabled.
	silentOfDowngrade = "3.5"
)

// preparation is what a State asks for before members may be brought to the spec's version.
type preparation struct {
	// to is the minor version that they are to run, via the one that the data is brought down to.
	to, via string
}

// preparation that a change from lowest and highest needs; false when it needs none. While members run two minor
// versions the cluster is of the lower one, and so is all data.
func (s State) preparation(lowest, highest string) (preparation, bool) {
	to := minor(s.Spec.EtcdVersion())
	switch {
	case lowest == "" || minor(lowest) != minor(highest) || to == minor(lowest):
		return preparation{}, false
	case Older(s.Spec.EtcdVersion(), lowest):
		return preparation{to: to, via: to}, true
	case to == snapshotsAt:
		return preparation{to: to, via: snapshotsVia}, true
	}
	return preparation{}, false
}

// readyFor says whether a member may be started on the spec's version.
func (s State) readyFor(lowest, highest string) bool {
	p, needed := s.preparation(lowest, highest)
	if !s.answered() && s.VersionChange != nil {
		return s.VersionChange.To == minor(s.Spec.EtcdVersion()) && s.VersionChange.Step == v1beta2.VersionChangeReady
	}
	if !needed {
		return s.unreadable() == ""
	}
	if s.prepared(p) != v1beta2.VersionChangeReady {
		return false
	}
	return p.via != p.to || s.downgrade() == p.via || !s.answered()
}

// answered says whether any member answers.
func (s State) answered() bool {
	return slices.ContainsFunc(s.Current(), func(m Member) bool { return m.Answers })
}

// prepared is how far a preparation is.
func (s State) prepared(p preparation) v1beta2.VersionChangeStep {
	if s.VersionChange == nil || s.VersionChange.To != p.to {
		return ""
	}
	return s.VersionChange.Step
}

// downgrade is the minor version that etcd is bringing its data down to; empty when it is not. Members of 3.5 do not
// report it: as long as the status has a record of it, it may be under way.
func (s State) downgrade() string {
	tells := false
	for _, m := range s.Current() {
		if m.Downgrade != "" {
			return minor(m.Downgrade)
		}
		tells = tells || m.StorageVersion != ""
	}
	if !tells && s.answered() && s.VersionChange != nil && s.VersionChange.To == silentOfDowngrade {
		return silentOfDowngrade
	}
	return ""
}

// cancelDowngrade cancels a downgrade that the spec no longer asks for. It also cancels one that keeps a new member from
// joining, which etcd refuses during a downgrade. It stands before the rules that wait for healthy members, because members
// may be unhealthy until then.
func cancelDowngrade(s State) Step {
	target := s.downgrade()
	if target == "" || !s.MembershipKnown {
		return nil
	}
	joins := s.surplus() < len(s.leavingMembers()) || slices.ContainsFunc(s.membership(), func(m Member) bool { return !m.Started })
	if !joins && target == s.wantedDowngrade() {
		return nil
	}
	if c := s.VersionChange; c != nil && c.To == target && c.Step == v1beta2.VersionChangeReady {
		// Before it stops being true: should all members stop next, none of them may come back on the lower version.
		return RecordVersionChange{To: c.To, Step: v1beta2.VersionChangePreparing, Index: c.Index}
	}
	return CancelDowngrade{From: target}
}

// CancelDowngrade cancels a downgrade that is enabled in etcd.
type CancelDowngrade struct{ From string }

func (step CancelDowngrade) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonUpgrading,
		Message: "The conversion of the data to " + step.From + " is not needed any more. The operator is cancelling it.",
		Requeue: requeueStarting,
	}, "DowngradeCancelled", cluster)
}

// wantedDowngrade is the minor version that the data should be on its way down to; empty for none.
func (s State) wantedDowngrade() string {
	lowest, highest := s.versions()
	to := minor(s.Spec.EtcdVersion())
	if s.rollRefusal() != "" {
		return ""
	}
	if p, needed := s.preparation(lowest, highest); needed {
		if p.via != p.to && s.prepared(p) != "" && s.prepared(p) != v1beta2.VersionChangePreparing {
			return "" // the snapshots are taken
		}
		return p.via
	}
	if minor(lowest) != minor(highest) && to == minor(lowest) {
		return to
	}
	return ""
}

// prepareVersionChange prepares the data of all members for another minor version. When this rule is asked, all members
// are healthy and answer.
func prepareVersionChange(s State) Step {
	if !s.Formed() || !s.MembershipKnown || s.rollRefusal() != "" {
		return nil
	}
	lowest, highest := s.versions()
	p, needed := s.preparation(lowest, highest)
	if !needed || (s.prepared(p) == v1beta2.VersionChangeReady && (p.via != p.to || s.downgrade() == p.via)) {
		return nil
	}
	record := RecordVersionChange{To: p.to, Step: v1beta2.VersionChangeReady, Index: s.applied()}
	switch {
	case s.prepared(p) == v1beta2.VersionChangeReady:
		record.Step = v1beta2.VersionChangePreparing // etcd is not on the way down any more
		return record
	case s.prepared(p) == v1beta2.VersionChangeSnapshotted && s.behind(minor(lowest), s.VersionChange.Index) == "":
		record.Index = s.VersionChange.Index
		return record
	case s.prepared(p) == v1beta2.VersionChangeSnapshotted:
		return s.preparing("returning to cluster version "+minor(lowest), s.behind(minor(lowest), s.VersionChange.Index))
	case s.downgrade() == "" && s.behind(minor(lowest), 0) != "":
		return s.preparing("finishing the change to "+minor(lowest), s.behind(minor(lowest), 0))
	case s.prepared(p) == "":
		record.Step = v1beta2.VersionChangePreparing
		return record
	case s.downgrade() == "":
		return EnableDowngrade{To: p.via + ".0", For: p.to}
	case s.behind(p.via, 0) != "":
		return s.preparing("converting the data to "+p.via, s.behind(p.via, 0))
	case p.via != p.to:
		record.Step = v1beta2.VersionChangeSnapshotted
	}
	return record
}

// EnableDowngrade has etcd bring the data of all members down to a minor version, on the way to another.
type EnableDowngrade struct{ To, For string }

func (step EnableDowngrade) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonUpgrading,
		Message: fmt.Sprintf("The operator is preparing the members' data for %s. etcd converts it to %s while the members serve.", step.For, minor(step.To)),
		Requeue: requeueStarting,
	}, "PreparingVersionChange", cluster)
}

// RecordVersionChange records what the members' data was proven to be prepared for.
type RecordVersionChange v1beta2.VersionChangeStatus

func (step RecordVersionChange) describe(State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonUpgrading, Requeue: requeueSoon}
	switch step.Step {
	case v1beta2.VersionChangePreparing:
		d.Message = "The operator is preparing the members' data for " + step.To + "."
		return d
	case v1beta2.VersionChangeSnapshotted:
		d.Message = "Every member has a raft snapshot that " + step.To + " can start from."
		return d
	default:
		d.Message = "The members' data is ready for " + step.To + "."
	}
	if step.Step != v1beta2.VersionChangeReady {
		return d
	}
	return announced(d, "VersionChangePrepared", cluster)
}

// applied is the highest index in the raft log that a member has applied.
func (s State) applied() int64 {
	var highest int64
	for _, m := range s.membership() {
		highest = max(highest, m.AppliedIndex)
	}
	return highest
}

// behind names the members whose data is not of a minor version, or that have not applied the log up to an index.
func (s State) behind(data string, index int64) string {
	var names []string
	for _, m := range s.membership() {
		if minor(m.StorageVersion) != data || m.AppliedIndex < index {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

func (s State) preparing(what, who string) Step {
	return Wait{
		Reason: v1beta2.ReasonUpgrading,
		Message: fmt.Sprintf("The operator is preparing the data for %s, and all members serve. etcd is %s on %s. To cancel, set spec.version to %s again.",
			s.Spec.EtcdVersion(), what, who, s.lowestVersion()),
	}
}

// versionChange is what stays true of what was recorded, as long as nobody answers, members run two minor versions or
// etcd is bringing data down: afterwards nothing once the members are there, nor when the spec no longer asks for it.
func (s State) versionChange() *v1beta2.VersionChangeStatus {
	recorded := s.VersionChange.DeepCopy()
	if recorded == nil || !s.answered() || s.downgrade() != "" {
		return recorded
	}
	lowest, highest := s.versions()
	if recorded.Step == v1beta2.VersionChangeReady && Older(recorded.To+".0", minor(highest)+".0") {
		recorded.Step = v1beta2.VersionChangePreparing // it was called off, and the data may go up again
	}
	p, needed := s.preparation(lowest, highest)
	if minor(lowest) != minor(highest) || (needed && p.to == recorded.To) {
		return recorded
	}
	return nil
}

package versions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
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

// CancelDowngrade cancels a downgrade that the spec no longer asks for. It also cancels one that keeps a new member from
// joining, which etcd refuses during a downgrade. It stands before the rules that wait for healthy members, because members
// may be unhealthy until then.
func CancelDowngrade(s state.State) steps.Step {
	target := state.Downgrade(s)
	if target == "" || !s.MembershipKnown {
		return nil
	}
	joins := s.Surplus() < len(steps.LeavingMembers(s)) || slices.ContainsFunc(s.Membership(), func(m state.Member) bool { return !m.Started })
	if !joins && target == wantedDowngrade(s) {
		return nil
	}
	if c := s.VersionChange; c != nil && c.To == target && c.Step == v1beta2.VersionChangeReady {
		// Before it stops being true: should all members stop next, none of them may come back on the lower version.
		return steps.RecordVersionChange{To: c.To, Step: v1beta2.VersionChangePreparing, Index: c.Index}
	}
	return steps.CancelDowngrade{From: target}
}

// wantedDowngrade is the minor version that the data should be on its way down to; empty for none.
func wantedDowngrade(s state.State) string {
	lowest, highest := state.Versions(s)
	to := state.Minor(s.Spec.EtcdVersion())
	if state.RollRefusal(s) != "" {
		return ""
	}
	if p, needed := state.Preparation(s, lowest, highest); needed {
		if p.Via != p.To && state.Prepared(s, p) != "" && state.Prepared(s, p) != v1beta2.VersionChangePreparing {
			return "" // the snapshots are taken
		}
		return p.Via
	}
	if state.Minor(lowest) != state.Minor(highest) && to == state.Minor(lowest) {
		return to
	}
	return ""
}

// PrepareVersionChange prepares the data of all members for another minor version. When this rule is asked, all members
// are healthy and answer.
func PrepareVersionChange(s state.State) steps.Step {
	if !s.Formed() || !s.MembershipKnown || state.RollRefusal(s) != "" {
		return nil
	}
	lowest, highest := state.Versions(s)
	p, needed := state.Preparation(s, lowest, highest)
	if !needed || (state.Prepared(s, p) == v1beta2.VersionChangeReady && (p.Via != p.To || state.Downgrade(s) == p.Via)) {
		return nil
	}
	record := steps.RecordVersionChange{To: p.To, Step: v1beta2.VersionChangeReady, Index: state.Applied(s)}
	switch {
	case state.Prepared(s, p) == v1beta2.VersionChangeReady:
		record.Step = v1beta2.VersionChangePreparing // etcd is not on the way down any more
		return record
	case state.Prepared(s, p) == v1beta2.VersionChangeSnapshotted && behind(s, state.Minor(lowest), s.VersionChange.Index) == "":
		record.Index = s.VersionChange.Index
		return record
	case state.Prepared(s, p) == v1beta2.VersionChangeSnapshotted:
		return preparing(s, "returning to cluster version "+state.Minor(lowest), behind(s, state.Minor(lowest), s.VersionChange.Index))
	case state.Downgrade(s) == "" && behind(s, state.Minor(lowest), 0) != "":
		return preparing(s, "finishing the change to "+state.Minor(lowest), behind(s, state.Minor(lowest), 0))
	case state.Prepared(s, p) == "":
		record.Step = v1beta2.VersionChangePreparing
		return record
	case state.Downgrade(s) == "":
		return steps.EnableDowngrade{To: p.Via + ".0", For: p.To}
	case behind(s, p.Via, 0) != "":
		return preparing(s, "converting the data to "+p.Via, behind(s, p.Via, 0))
	case p.Via != p.To:
		record.Step = v1beta2.VersionChangeSnapshotted
	}
	return record
}

// behind names the members whose data is not of a minor version, or that have not applied the log up to an index.
func behind(s state.State, data string, index int64) string {
	var names []string
	for _, m := range s.Membership() {
		if state.Minor(m.StorageVersion) != data || m.AppliedIndex < index {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

func preparing(s state.State, what, who string) steps.Step {
	return steps.Wait{
		Reason: v1beta2.ReasonUpgrading,
		Message: fmt.Sprintf("The operator is preparing the data for %s, and all members serve. etcd is %s on %s. To cancel, set spec.version to %s again.",
			s.Spec.EtcdVersion(), what, who, state.LowestVersion(s)),
	}
}

// VersionChange is what stays true of what was recorded, as long as nobody answers, members run two minor versions or
// etcd is bringing data down: afterwards nothing once the members are there, nor when the spec no longer asks for it.
func VersionChange(s state.State) *v1beta2.VersionChangeStatus {
	recorded := s.VersionChange.DeepCopy()
	if recorded == nil || !state.Answered(s) || state.Downgrade(s) != "" {
		return recorded
	}
	lowest, highest := state.Versions(s)
	if recorded.Step == v1beta2.VersionChangeReady && state.Older(recorded.To+".0", state.Minor(highest)+".0") {
		recorded.Step = v1beta2.VersionChangePreparing // it was called off, and the data may go up again
	}
	p, needed := state.Preparation(s, lowest, highest)
	if state.Minor(lowest) != state.Minor(highest) || (needed && p.To == recorded.To) {
		return recorded
	}
	return nil
}

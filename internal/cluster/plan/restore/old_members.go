package restore

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// oldRun reports whether old members must be asked to stop before the seed takes over. A Pod that has ended is no reason to wait: if
// the API server refuses to delete its object, clients would wait, too. Neither are voters that are too few for a quorum: they
// acknowledge no write. The API server may have deleted the others, and then refuse these. They are deleted after the switch.
func oldRun(s state.State) bool {
	voters := oldRunning(s)
	asked := !slices.ContainsFunc(voters, func(m state.Member) bool { return m.Pod != state.PodDeleting })
	return !asked && HaveQuorum(trusting(s), voters)
}

// oldRunning returns the voters of the old cluster whose Pods may run.
func oldRunning(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool {
		return mayVote(s, m) && m.Pod != state.PodNone && m.Pod != state.PodEnded && !m.Stopped
	})
}

// OldQuorumRuns reports whether a quorum of the old voters runs, and none of it was asked to stop. A restore that is not asked for any more
// leaves voters alone that may start again, too. Foreign voters alone are no reason to return.
func OldQuorumRuns(s state.State) bool {
	running := slices.DeleteFunc(slices.Clone(oldRunning(s)), func(m state.Member) bool {
		return m.Pod == state.PodDeleting || m.Pod != state.PodRunning && s.Requested()
	})
	return len(running) > 0 && HaveQuorum(s, running)
}

// InTheWay says which old member is in the way of a step that lets the seed replace the old members, or that returns to the time before
// they stopped; empty if none is. The State has the Pods as a read past the cache shows them.
func InTheWay(s state.State, step steps.Step) string {
	old := s.Where(func(m state.Member) bool {
		return m.Incarnation != s.Restore.Incarnation && m.Pod != state.PodNone && m.Pod != state.PodEnded
	})
	beside := func(m state.Member) string { return "the old member " + m.Name + " may run beside the seed" }
	switch step.(type) {
	case steps.ReturnToSeeding:
		if !OldQuorumRuns(s) {
			return "the old members stop"
		}
	case steps.BeginSwitch:
		if len(old) > 0 && cannotHandOver(s) != nil {
			return beside(old[0])
		}
	case steps.AdoptSeed:
		if WritesFenced(s) {
			return ""
		}
		if voters := oldRunning(s); oldRun(s) {
			return beside(voters[0])
		}
		if len(old) > 0 && OldMemberStops(s) != nil {
			return beside(old[0])
		}
		if foreignQuorum(s) != nil {
			return "voters that the operator did not add may run beside the seed"
		}
	}
	return ""
}

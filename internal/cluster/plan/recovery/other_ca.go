package recovery

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// heldUpByOne names a member that was restarted for the present CA and does not run, and says that the operator restarts none of the others before. It is empty
// if there is none.
func heldUpByOne(s state.State) string {
	i := slices.IndexFunc(s.Current(), func(m state.Member) bool { return fellOut(s, m) })
	if i < 0 {
		return ""
	}
	m := s.Current()[i]
	return planning.Sentence("Member "+m.Name+" was started with the CA that its Secrets hold now, and does not serve: ", m.Cause()) +
		" The others trust an earlier CA, and may refuse the operator and new clients. Pods of them are ready, so they may serve clients that are connected. The operator restarts none of them until this one runs. Correct what keeps it from starting." +
		" Do that before you restart another one, because that may not start either." + startedWithOtherCAs(s)
}

// withOneHeldUp returns the wait for the first Pod that cannot start, with what heldUpByOne says. What to do for an empty volume is kept.
func withOneHeldUp(s state.State, wait steps.Wait, holders []state.Member) steps.Wait {
	held := heldUpByOne(s)
	blocked := slices.IndexFunc(holders, func(m state.Member) bool { return m.Pod == state.PodBlocked })
	switch {
	case held == "":
	case holders[blocked].Empty:
		wait.Message += " " + held
	default:
		wait.Message = held
	}
	return wait
}

// startedWithOtherCAs names the members that trust other CAs than the Secrets of the user hold, as sentences that follow others. The operator restarts
// them only if it knows that their Pods serve no client. It does not know which CAs they trust. If one that was restarted does not run, the operator restarts
// no other one.
func startedWithOtherCAs(s state.State) string {
	held := slices.ContainsFunc(s.Current(), func(m state.Member) bool { return fellOut(s, m) })
	old := s.Where(func(m state.Member) bool {
		return m.Incarnation == s.Incarnation && m.Pod == state.PodRunning && state.TrustsOldCA(s, m) && (held || !restarts(s, m))
	})
	return waits.RestartByHand(s, old)
}

// readyWithOtherCAs is startedWithOtherCAs if the Pod of such a member is ready. The operator restarts the others once they have not been ready for long.
func readyWithOtherCAs(s state.State) string {
	if !slices.ContainsFunc(s.Current(), func(m state.Member) bool { return m.PodReady && state.TrustsOldCA(s, m) }) {
		return ""
	}
	return startedWithOtherCAs(s)
}

// restarts reports whether restartForNewCA restarts a member by itself, also one that is ready.
func restarts(s state.State, m state.Member) bool {
	return state.KeepsData(s, m) && slices.Contains(strings.Fields(s.Certificates.Refusing), m.Trust)
}

// fellOut reports whether a voter has the present CA, its etcd has not run for startGrace, and a ready one trusts an earlier CA.
func fellOut(s state.State, m state.Member) bool {
	return state.MayVote(s, m) && !state.TrustsOldCA(s, m) && !state.Runs(s, m) && state.UnreadyFor(s, m, state.StartGrace) &&
		slices.ContainsFunc(s.Current(), func(other state.Member) bool { return state.MayServe(s, other) && state.TrustsOldCA(s, other) })
}

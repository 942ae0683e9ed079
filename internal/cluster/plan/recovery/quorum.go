package recovery

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
)

// onlyInPods says that a restart would delete data, and of which members.
func onlyInPods(s state.State) string {
	if slices.ContainsFunc(s.Current(), func(m state.Member) bool { return state.InPod(s, m) }) {
		return "Their data is in the Pods, and a restart would delete it. "
	}
	only := slices.DeleteFunc(slices.Clone(s.Current()), func(m state.Member) bool { return !state.GoesWithPod(s, m) })
	return "Only the Pods of these members have their data, and a restart would delete it, because their volumes are lost or are being deleted: " +
		strings.Join(state.MemberNames(only), ", ") + ". "
}

// membersHaveHadTheirTime: no member holds data, or all that do have had their time and no quorum came of it.
func membersHaveHadTheirTime(s state.State, holders []state.Member) bool {
	for _, m := range holders {
		grace := state.StartGrace
		if m.Answers {
			grace = state.ElectionGrace(s)
		}
		if !state.UnreadyFor(s, m, grace) {
			return false
		}
	}
	return true
}

// replayGrace is how long etcd may apply its log after its start. Until then the index in its metrics is lower than what it knows: it took 0.3 to
// 1.2 s for 9,000 to 24,000 entries, and etcd keeps up to some 100,000.
const replayGrace = 30 * time.Second

// replays says whether a member's etcd has just started. Its Pod may have waited for its volume and its image before.
func replays(s state.State, m state.Member) bool {
	return !m.EtcdSince.IsZero() && !clock.Ahead(m.EtcdSince, s.Now) && clock.Elapsed(m.EtcdSince, s.Now) <= max(state.ElectionGrace(s), replayGrace)
}

// mute says whether a member has run without a quorum for so long that its metrics show all that it knows, and that it would lead if it were alone.
func mute(s state.State, m state.Member) bool {
	return !replays(s, m) && state.UnreadyFor(s, m, state.ElectionGrace(s))
}

package versions

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// OldestTested is the oldest minor version of etcd that the suite is tested with.
const OldestTested = "3.4.0"

// AdviseVersion warns of releases with known defects, and of those that the suite is not tested with.
func AdviseVersion(s state.State) steps.Step {
	message := versionAdvice(s)
	if message == "" {
		return nil
	}
	return steps.Advice{Reason: v1beta2.ReasonVersionNotAdvised, Message: message}
}

// versionAdvice returns why the version that members run should be left, and an empty string if it need not.
func versionAdvice(s state.State) string {
	runs := state.LowestVersion(s)
	if runs == "" {
		return ""
	}
	if state.Older(runs, OldestTested) {
		return fmt.Sprintf("The members run etcd %s, and this operator is tested with %s and newer. etcd before that has no learners, so a new member counts for quorum before it has its data. "+
			"Take a snapshot, and restore it into an EtcdCluster of a newer version.", runs, state.Minor(OldestTested))
	}
	last, ended := etcdversion.Ended[state.Minor(runs)]
	end := fmt.Sprintf("etcd's project ended %s with %s of %s. Upgrade to the next minor version.", state.Minor(runs), last[0], last[1])
	found := defects(s, runs)
	switch {
	case len(found) == 0 && ended:
		return fmt.Sprintf("The members run etcd %s, which gets no more corrections. %s", runs, end)
	case len(found) == 0:
		return ""
	}
	message := fmt.Sprintf("The members run etcd %s, which is not advised, because %s (%s).", runs, found[0].Effect, found[0].Source)
	if others := len(found) - 1; others > 0 {
		message += fmt.Sprintf(" It has %d other known defects.", others)
	}
	if ended {
		return message + " " + end
	}
	if release := withoutDefects(runs, found); release != "" {
		return message + fmt.Sprintf(" Set spec.version to the newest %s, at least %s.", state.Minor(runs), release)
	}
	return message + " No release of " + state.Minor(runs) + " is known to be without it. Upgrade to a newer minor version, or follow the source."
}

// defects of a version that a person should act on, the worst first. What the administrator has added comes last.
func defects(s state.State, runs string) []etcdversion.Defect {
	return slices.DeleteFunc(slices.Concat(etcdversion.Defects(), s.MoreDefects), func(d etcdversion.Defect) bool { return d.Silent || !d.Affects(runs) })
}

// withoutDefects is the first release of the same minor version that has none of the defects, as far as releases are known.
func withoutDefects(runs string, found []etcdversion.Defect) string {
	first := runs
	for _, d := range found {
		if d.Fixed == "" {
			return ""
		}
		if state.Older(first, d.Fixed) {
			first = d.Fixed
		}
	}
	return first
}

package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// oldestTested is the oldest minor version of etcd that the suite is tested with.
const oldestTested = "3.4.0"

// flaws are the releases of etcd that can damage data, as etcd's project announced them.
var flaws = []struct{ from, fixed, what string }{
	{"3.4.20", "3.4.22", "members that are added while authentication is on can get other data (etcd-io/etcd#14571)"},
	{"3.5.0", "3.5.3", "members can have other data after a crash under load (etcd-io/etcd#13766)"},
	{"3.5.3", "3.5.6", "members can have other revisions after a crash during a defragmentation (etcd-io/etcd#14685)"},
}

// VersionNotAdvised says that the cluster is as its spec asks, and that its version of etcd is one to leave.
type VersionNotAdvised struct{ Message string }

func (step VersionNotAdvised) describe(s State) planning.Description {
	return warned(planning.Description{Reason: v1beta2.ReasonVersionNotAdvised, Message: step.Message + s.saysFenced(), Requeue: requeueSettled}, v1beta2.ReasonVersionNotAdvised, "Check")
}

// adviseVersion warns of releases that damage data, and of those that the suite is not tested with.
func adviseVersion(s State) Step {
	runs := s.lowestVersion()
	if runs == "" {
		return nil
	}
	if Older(runs, oldestTested) {
		return VersionNotAdvised{Message: fmt.Sprintf("The members run etcd %s, and this operator is tested with %s and newer. etcd before that has no learners, so a new member counts for quorum before it has its data. "+
			"Take a snapshot, and restore it into an EtcdCluster of a newer version.", runs, minor(oldestTested))}
	}
	for _, flaw := range flaws {
		if !Older(runs, flaw.from) && Older(runs, flaw.fixed) {
			return VersionNotAdvised{Message: fmt.Sprintf("The members run etcd %s, which can damage data: %s. Set spec.version to the newest %s, at least %s.", runs, flaw.what, minor(runs), withoutFlaw(runs))}
		}
	}
	return nil
}

// withoutFlaw is the first release of the same minor version after all flaws.
func withoutFlaw(runs string) string {
	first := runs
	for _, flaw := range flaws {
		if minor(flaw.fixed) == minor(runs) && Older(first, flaw.fixed) {
			first = flaw.fixed
		}
	}
	return first
}

package edit

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/plugin/observed"
)

// DefragOrder returns the members in the order in which they are defragmented: the leader is the last. A member does not answer
// meanwhile, so all members must serve. If the quota is used up, defragmentation is the way out.
func DefragOrder(c v1beta2.EtcdCluster) ([]string, error) {
	var names []string
	for _, m := range c.Status.MemberStatuses {
		if !m.Ready && !observed.HasReason(c.Status.Conditions, v1beta2.ReasonNoSpace) {
			return nil, fmt.Errorf("member %s is not ready. Without another one the cluster could lose quorum. Nothing was changed. See kubectl etcd status %s", m.Name, c.Name)
		}
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("EtcdCluster %s has no members. Nothing was changed. See kubectl etcd status %s", c.Name, c.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch Leader(c) {
		case a:
			return 1
		case b:
			return -1
		}
		return 0
	})
	return names, nil
}

// FollowServing returns the progress until all members serve.
func FollowServing(c v1beta2.EtcdCluster) Step {
	for _, m := range c.Status.MemberStatuses {
		if !m.Ready && !observed.HasReason(c.Status.Conditions, v1beta2.ReasonNoSpace) {
			return Step{Line: "member " + m.Name + " is not ready"}
		}
	}
	return Step{Line: "all members serve", Done: true}
}

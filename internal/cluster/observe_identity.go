package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// identify decides which answers are those of the members that were asked. The address of a Pod that is gone can
// belong to another etcd.
func (v *view) identify(answers []answer) {
	for i := range answers {
		if a := &answers[i]; len(a.membership) > 0 && !answersAs(v.Members[i].Name, a) {
			v.disown(i, a, fmt.Sprintf("another etcd answers at its address, member %s of cluster %s", a.status.MemberID, a.status.ClusterID))
		}
	}
	v.CorrectClusterID(v.provenID(answers))
	for i := range answers {
		want := v.expectedIDs(v.Members[i])
		if a := &answers[i]; a.err == nil && len(want) > 0 && !slices.Contains(want, a.status.ClusterID.String()) {
			v.disown(i, a, fmt.Sprintf("its address answers for cluster %s, and this cluster is %s", a.status.ClusterID, want[0]))
		}
	}
}

// disown drops an answer. The cluster ID is kept for the messages.
func (v *view) disown(i int, a *answer, why string) {
	v.Members[i].ClusterID = a.status.ClusterID
	*a = answer{err: errors.New(why)}
}

// answersAs reports whether the membership that a member answered with has the member under that name.
func answersAs(name string, a *answer) bool {
	return slices.ContainsFunc(a.membership, func(entry etcd.Member) bool {
		return entry.ID == a.status.MemberID && plan.MemberOf(entry) == name
	})
}

// provenID is the cluster ID that a quorum of this EtcdCluster's members stands behind: most entries of the membership
// are Pods or volumes of the current incarnation. It is 0 if there is none, or if members disagree.
func (v *view) provenID(answers []answer) etcd.ID {
	var proven etcd.ID
	for _, a := range answers {
		ours := 0
		for _, entry := range a.membership {
			if slices.ContainsFunc(v.Current(), func(m plan.Member) bool { return m.Name == plan.MemberOf(entry) }) {
				ours++
			}
		}
		switch {
		case 2*ours <= len(a.membership):
		case proven != 0 && proven != a.status.ClusterID:
			return 0
		default:
			proven = a.status.ClusterID
		}
	}
	return proven
}

// expectedIDs are the cluster IDs that a member may answer with; none if that is not known yet. While the status and the
// client Service disagree and no quorum has decided, both count.
func (v *view) expectedIDs(m plan.Member) []string {
	switch {
	case v.Formed() && m.Incarnation == v.Incarnation:
		ids := []string{v.ClusterID}
		if v.Services.ClientIncarnation == v.Incarnation && v.Services.ClientClusterID != "" && !v.ClusterIDProven {
			ids = append(ids, v.Services.ClientClusterID)
		}
		return ids
	case v.Restore != nil && v.Restore.Incarnation == m.Incarnation && v.Restore.ClusterID != "":
		return []string{v.Restore.ClusterID}
	}
	return nil
}

package members

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/clock"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// identify decides which answers are those of the members that were asked. The address of a Pod that is gone can
// belong to another etcd.
func identify(v *view.View, answers []Answer) {
	for i := range answers {
		if a := &answers[i]; len(a.membership) > 0 && !answersAs(v.Members[i].Name, a) {
			disown(v, i, a, fmt.Sprintf("another etcd answers at its address, member %s of cluster %s", a.status.MemberID, a.status.ClusterID))
		}
	}
	services.CorrectClusterID(&v.State, provenID(v, answers))
	for i := range answers {
		if why := takenBy(v, v.Members[i].Name, answers[i]); why != "" {
			disown(v, i, &answers[i], why)
		}
		want := expectedIDs(v, v.Members[i])
		if a := &answers[i]; a.Err == nil && len(want) > 0 && !slices.Contains(want, a.status.ClusterID.String()) {
			disown(v, i, a, fmt.Sprintf("its address answers for cluster %s, and this cluster is %s", a.status.ClusterID, want[0]))
		}
	}
}

// takenBy returns which other etcd answers at the address of a member, if no quorum stands behind the answer. It is empty if it is the
// member, or if that is not known. When a node boots again, its Pods may swap their addresses before Kubernetes shows that, and a recovery
// from a lost quorum continues from the member that knows most.
func takenBy(v *view.View, member string, a Answer) string {
	id := a.status.MemberID
	if a.Err != nil {
		id = a.appliedBy
	}
	if len(a.membership) > 0 || id == 0 || v.KnownIDs[member] == id {
		return ""
	}
	for other, known := range v.KnownIDs {
		if other != member && known == id {
			return "member " + other + " answers at its address"
		}
	}
	if known := v.KnownIDs[member]; a.Err != nil && known != 0 && !settled(v, member) {
		return fmt.Sprintf("member %s answers at its address, and this member is %s", id, known)
	}
	return ""
}

// addressSettles is how long Kubernetes may show the old addresses of Pods at most, after a node has booted again.
const addressSettles = 5 * time.Minute

// settled reports whether the Pod of a member has been unready for so long that its address is its own, on the volume that is recorded. An etcd there
// with an ID that no other member has is that member: the ID in the status is from an old one.
func settled(v *view.View, member string) bool {
	m, _ := state.Find(v.State, member)
	return m.Volume == state.VolumePresent && !state.OnAnotherVolume(v.State, m) && !m.UnreadySince.IsZero() && clock.Elapsed(m.UnreadySince, v.Now) > addressSettles
}

// disown drops an answer. The cluster ID is kept for the messages.
func disown(v *view.View, i int, a *Answer, why string) {
	v.Members[i].ClusterID = a.status.ClusterID
	*a = Answer{Err: errors.New(why)}
}

// answersAs reports whether the membership that a member answered with has the member under that name.
func answersAs(name string, a *Answer) bool {
	return slices.ContainsFunc(a.membership, func(entry etcd.Member) bool {
		return entry.ID == a.status.MemberID && state.MemberOf(entry) == name
	})
}

// provenID is the cluster ID that a quorum of this EtcdCluster's members stands behind: most entries of the membership
// are Pods or volumes of the current incarnation. It is 0 if there is none, or if members disagree.
func provenID(v *view.View, answers []Answer) etcd.ID {
	var proven etcd.ID
	for _, a := range answers {
		ours := 0
		for _, entry := range a.membership {
			if slices.ContainsFunc(v.Current(), func(m state.Member) bool { return m.Name == state.MemberOf(entry) }) {
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
func expectedIDs(v *view.View, m state.Member) []string {
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

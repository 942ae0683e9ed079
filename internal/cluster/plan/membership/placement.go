package membership

import (
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// A member is placed when its Pod is created: its volume ties it to a zone. So the operator decides two things. It removes
// the member whose zone, or else whose node, has the most others. And a member that takes the place of another prefers the
// zone of the other, because the scheduler still counts the one that leaves.

// neighbours are how many voters share a member's zone and node with it. Unknown zones and nodes are shared with nobody.
func neighbours(s state.State, m state.Member) (zone, node int) {
	for _, other := range s.Membership() {
		if other.Learner || other.Name == m.Name {
			continue
		}
		if m.Zone != "" && other.Zone == m.Zone {
			zone++
		}
		if m.Node != "" && other.Node == m.Node {
			node++
		}
	}
	return zone, node
}

// compareCrowds orders members by how much the spread gains if they go.
func compareCrowds(s state.State, a, b state.Member) int {
	zoneA, nodeA := neighbours(s, a)
	zoneB, nodeB := neighbours(s, b)
	if zoneA != zoneB {
		return zoneA - zoneB
	}
	return nodeA - nodeB
}

// PreferredZone is the zone of the member whose place a new one takes while that one still serves. It is empty if there is
// none, or if the scheduler spreads better by itself.
func PreferredZone(s state.State, member string) string {
	for _, m := range steps.LeavingMembers(s) {
		if m.Name != member && !m.Learner {
			if zone, _ := neighbours(s, m); zone == 0 {
				return m.Zone
			}
			return ""
		}
	}
	return ""
}

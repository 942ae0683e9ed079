package plan

// A member is placed when its Pod is created: its volume ties it to a zone. So the operator decides two things. It removes
// the member whose zone, or else whose node, has the most others. And a member that takes the place of another prefers the
// zone of the other, because the scheduler still counts the one that leaves.

// neighbours are how many voters share a member's zone and node with it. Unknown zones and nodes are shared with nobody.
func (s State) neighbours(m Member) (zone, node int) {
	for _, other := range s.membership() {
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
func (s State) compareCrowds(a, b Member) int {
	zoneA, nodeA := s.neighbours(a)
	zoneB, nodeB := s.neighbours(b)
	if zoneA != zoneB {
		return zoneA - zoneB
	}
	return nodeA - nodeB
}

// PreferredZone is the zone of the member whose place a new one takes while that one still serves. It is empty if there is
// none, or if the scheduler spreads better by itself.
func (s State) PreferredZone(member string) string {
	for _, m := range s.leavingMembers() {
		if m.Name != member && !m.Learner {
			if zone, _ := s.neighbours(m); zone == 0 {
				return m.Zone
			}
			return ""
		}
	}
	return ""
}

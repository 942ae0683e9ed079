package restore

import "github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"

// highestRevision returns the highest revision that the cluster is known to have had: what its members report now, and
// what earlier restores and recoveries recorded. A restore goes above it, because clients may have seen it. No client has seen
// the seed of a restore that has not switched to it.
func highestRevision(s state.State) int64 {
	var highest int64
	if s.Restore != nil {
		highest = s.Restore.RevisionBefore
		if !s.Switching() {
			highest = max(highest, s.Restore.Revision)
		}
	}
	if s.Recovery != nil {
		highest = max(highest, s.Recovery.Revision)
	}
	for _, m := range state.OfIncarnation(s, max(s.Incarnation, state.FirstIncarnation)) {
		highest = max(highest, m.Revision)
	}
	return highest
}

// bumpOf returns the number to add to the revision of the requested snapshot: what the EtcdRestore asks for, and the
// distance from the snapshot to the cluster. 0 remains 0, because it turns the bump off.
func bumpOf(s state.State, request state.RestoreRequest) int64 {
	if request.RevisionBump == 0 {
		return 0
	}
	return request.RevisionBump + max(0, highestRevision(s)-request.Revision)
}

// SeedRevisionBump returns the number that the seed adds to the revision of the snapshot. It was computed when the
// restore began, so that a seed that is restored again has the same revisions.
func SeedRevisionBump(s state.State) int64 {
	if s.Restore != nil && s.Restore.RevisionBump > 0 && s.Requested() {
		return s.Restore.RevisionBump
	}
	return s.Request.RevisionBump
}

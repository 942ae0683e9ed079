package restore

import (
	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/waits"
)

// A restore, as the cluster sees it:
//
//	 old members   serve ──────────────────────────┐ stop
//	 seed                 restore ── start ── prove │ serve ── grow to size ──▶ complete
//	 Service       ──▶ old ─────────────────────────┼──▶ seed
//	 old volumes   kept ──────────────────────────────────────────────────────▶ deleted
//	 step          │ Seeding                        │ Switching │ Growing │ Complete
//
// A seed that fails before Switching is removed, and the old members never stopped.

// Restore takes a verified EtcdRestore through its steps until the seed is the cluster. While the restored cluster
// grows, only another EtcdRestore ends that: the way out when the seed's data is lost before it has company.
func Restore(s state.State) steps.Step {
	switch state.RestoreStep(s) {
	case v1beta2.RestoreSeeding:
		return keepStandby(s, seeding(s))
	case v1beta2.RestoreSwitching:
		return keepStandby(s, switching(s))
	}
	if s.Request == nil || s.Requested() || state.CannotRead(s, *s.Request) != "" {
		return nil // reportUnreadableRestore says so
	}
	last := max(s.Incarnation, state.FirstIncarnation)
	if s.Restore != nil { // its seed may be gone, and its volume not seen yet
		last = max(last, s.Restore.Incarnation)
	}
	for _, m := range s.Members {
		last = max(last, m.Incarnation)
	}
	var follow *v1beta2.FollowStatus
	if s.Request.Follow != nil {
		follow = &v1beta2.FollowStatus{}
	}
	return steps.BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
		Follow:          follow,
		Volume:          VolumeOf(s.Request),
		Name:            s.Request.Name,
		UID:             s.Request.UID,
		CreationTime:    s.Request.CreationTime(),
		Step:            v1beta2.RestoreSeeding,
		Message:         "The operator is restoring a seed. The members continue to serve.",
		Incarnation:     last + 1,
		ClusterIDBefore: s.ClusterID,
		SpecHash:        s.Request.SpecHash,
		RevisionBefore:  highestRevision(s),
		RevisionBump:    bumpOf(s, *s.Request),
	}}
}

// CompleteRestore ends a restore. It is asked last, so the cluster is at size and well and the old volumes are gone.
func CompleteRestore(s state.State) steps.Step {
	growing := state.RestoreStep(s) == v1beta2.RestoreGrowing
	for _, m := range s.Members {
		switch {
		case failedSeed(s, m) && m.Pod == state.PodNone && !waits.May(s, steps.DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}):
			// the API server refuses its deletion, which removeFailedSeed reports
		case failedSeed(s, m):
			return waits.WaitUntilGone(s, m, v1beta2.ReasonRestoring, "Seed "+m.Name+" of a failed restore is being removed.")
		case m.Incarnation < s.Incarnation && state.Overdue(s, m) && !m.Held:
			return steps.ForceDeletePod{Name: m.Name}
		case m.Incarnation < s.Incarnation && m.Pod == state.PodDeleting:
			return waits.WaitUntilGone(s, m, v1beta2.ReasonRestoring, "The Pod of old member "+m.Name+" is being deleted.")
		case m.Incarnation < s.Incarnation && growing && m.Pod != state.PodNone:
			return steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "The Pod of old member " + m.Name + " has yet to be deleted."}
		case m.Incarnation < s.Incarnation && growing:
			return steps.Wait{Reason: v1beta2.ReasonRestoring, Message: "The volume of old member " + m.Name + " is being deleted."}
		}
	}
	if !growing || !state.LeadsClients(s) {
		return nil
	}
	return steps.CompleteRestore{}
}

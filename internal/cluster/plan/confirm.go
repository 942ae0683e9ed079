package plan

import (
	"reflect"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// NotRunning reports whether a member's Pod was seen as one that cannot run, or has yet to. Before such a Pod is deleted, a
// read past the cache must show that it does not run: on an old cache its member may serve by now, or lead. A Pod that was
// seen to run is deleted although it may not be ready, or a member that hangs would never be restarted.
func NotRunning(s state.State, name string) bool {
	m, _ := state.Find(s, name)
	return m.Pod == state.PodBlocked || m.Pod == state.PodEnded || m.Pod == state.PodStarting
}

// CountedByPod returns the members that a step counts by their Pods, because they do not serve the operator: one of them is restarted, and whether that
// takes the quorum depends on which Pods are ready. Before such a restart, a read past the cache must show that each Pod is ready or not, as it was seen:
// on an old cache another one may have stopped since, and the one that is to be restarted may serve by now.
func CountedByPod(s state.State, step steps.DeletePod) []state.Member {
	switch step.Reason {
	case v1beta2.ReasonRotatingCertificates, v1beta2.ReasonCertificateLacksName, v1beta2.ReasonSettling, v1beta2.ReasonResizingVolume:
	default:
		return nil
	}
	stopped, _ := state.Find(s, step.Name)
	return s.Where(func(m state.Member) bool {
		return m.Incarnation == stopped.Incarnation && m.Pod == state.PodRunning && !m.Serving
	})
}

// DefragmentedSince reports whether a member was defragmented since the EtcdCluster was planned on. While its watch hangs, the operator
// would defragment it in each pass.
func DefragmentedSince(planned, live *v1beta2.EtcdCluster, name string) bool {
	return !state.Defragmented(live.Status.MemberStatuses)[name].Equal(state.Defragmented(planned.Status.MemberStatuses)[name])
}

// Outdated names what of an EtcdCluster has changed since it was planned on; empty if nothing has that an irreversible
// step depends on.
func Outdated(planned, live *v1beta2.EtcdCluster) string {
	restore := func(c *v1beta2.EtcdCluster) (uid string, step v1beta2.RestoreStep) {
		if c.Status.Restore == nil {
			return "", ""
		}
		return string(c.Status.Restore.UID), c.Status.Restore.Step
	}
	recovery := func(c *v1beta2.EtcdCluster) (member string, step v1beta2.RecoveryStep, forced bool) {
		if c.Status.Recovery == nil {
			return "", "", false
		}
		return c.Status.Recovery.Member, c.Status.Recovery.Step, c.Status.Recovery.ForcedAt != nil
	}
	plannedRestore, plannedStep := restore(planned)
	liveRestore, liveStep := restore(live)
	plannedMember, plannedRecovery, plannedForced := recovery(planned)
	liveMember, liveRecovery, liveForced := recovery(live)
	switch {
	case live.UID != planned.UID:
		return "metadata.uid"
	case !live.DeletionTimestamp.IsZero():
		return "metadata.deletionTimestamp"
	case live.Generation != planned.Generation:
		return "spec"
	case live.Status.Incarnation != planned.Status.Incarnation:
		return "status.incarnation"
	case live.Status.ClusterID != planned.Status.ClusterID:
		return "status.clusterID"
	case liveRestore != plannedRestore || liveStep != plannedStep:
		return "status.restore"
	case liveMember != plannedMember || liveRecovery != plannedRecovery || liveForced != plannedForced:
		return "status.recovery"
	case !reflect.DeepEqual(state.NewAsked(live.Annotations), state.NewAsked(planned.Annotations)):
		return "metadata.annotations"
	}
	return ""
}

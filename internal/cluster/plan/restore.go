package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/planning"
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

// restore takes a verified EtcdRestore through its steps until the seed is the cluster. While the restored cluster
// grows, only another EtcdRestore ends that: the way out when the seed's data is lost before it has company.
func restore(s state.State) Step {
	switch state.RestoreStep(s) {
	case v1beta2.RestoreSeeding:
		return seeding(s)
	case v1beta2.RestoreSwitching:
		return switching(s)
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
	return BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
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

// reportUnreadableRestore reports a verified restore that the cluster does not take up.
func reportUnreadableRestore(s state.State) Step {
	if s.Request == nil || s.Requested() || s.Restoring() {
		return nil
	}
	if why := state.CannotRead(s, *s.Request); why != "" {
		return Wait{Reason: v1beta2.ReasonSnapshotTooNew, Stalled: true, Message: why}
	}
	return nil
}

// BeginRestore records that a restore is taken up.
type BeginRestore struct{ Restore v1beta2.ClusterRestoreStatus }

func (step BeginRestore) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The operator is restoring EtcdRestore " + step.Restore.Name + " into a seed. The members continue to serve.",
		Requeue: state.RequeueSoon,
	}, "RestoreStarted", cluster)
}

func seeding(s state.State) Step {
	if !s.Requested() {
		return FailRestore{Message: state.NotRequested(s) + " The seed had not taken over" + unchanged(s) + useAnotherName(s)}
	}
	seed, _ := state.SeedMember(s)
	if why := seedStuck(s, seed); why != "" {
		return FailRestore{Message: why + " The operator removes the seed. The cluster was not changed."}
	}
	switch {
	case seed.Pod == state.PodDeleting || (seed.Pod == state.PodNone && seed.Volume == state.VolumeDeleting):
		return waitUntilGone(s, seed, v1beta2.ReasonRestoring, "An earlier seed is being removed.")
	case seed.Volume == state.VolumeDeleting:
		return DeletePod{Name: seed.Name, Reason: v1beta2.ReasonRestoring, Message: "its volume is being deleted, and the seed must be restored again"}
	case seed.Pod == state.PodNone && s.Durable() && seed.Volume == state.VolumeNone && s.NoStorageClass:
		return noStorageClass()
	case seed.Pod == state.PodNone:
		return CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: state.StartSeed}
	case seed.SeedFailed():
		return FailRestore{Message: planning.Sentence("The seed could not be restored: ", seed.Seed.Message) + " The cluster was not changed."}
	case seed.Pod == state.PodBlocked:
		return Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The members continue to serve.", Stalled: true}
	case seed.Refusal != etcd.NotRefused:
		return saveBeforeRefusal(s, seed)
	case !seed.Serving || !seed.PodReady:
		return waitForSeed(s, seed)
	}
	if step := beforeSwitch(s, seed); step != nil {
		return step
	}
	return BeginSwitch{ClusterID: seed.ClusterID.String(), Revision: seed.Revision}
}

// unchanged ends the sentence that a seed had not taken over. If the members have no data, or too few have it, nothing continues.
func unchanged(s state.State) string {
	if s.Formed() && oldMayContinue(s) {
		return "." + oldContinue
	}
	return ", so the cluster was not changed."
}

// useAnotherName returns the advice for an EtcdRestore that failed or lost its status. It is empty for one that was deleted.
func useAnotherName(s state.State) string {
	if s.RestoreFailed || s.RestoreUnverified {
		return " Create an EtcdRestore with another name."
	}
	return ""
}

// beforeSwitch returns what must happen before a seed that serves may take over; nil for nothing.
func beforeSwitch(s state.State, seed state.Member) Step {
	if why := seedBehind(s, seed); why != "" {
		return FailRestore{Message: why + " The cluster was not changed."}
	}
	if why := heldUp(s); why != "" {
		return FailRestore{Message: why}
	}
	if step := cannotHandOver(s); step != nil {
		return step
	}
	return safetySnapshot(s)
}

// waitForSeed waits until a seed serves, or until its Pod is created again after it failed.
func waitForSeed(s state.State, seed state.Member) Step {
	if wait := waitForAttempt(s, []state.Member{seed}); wait != nil {
		return wait
	}
	progress := int64(0)
	if seed.Seed != nil {
		progress = int64(seed.Seed.Percent)
	}
	return Wait{
		Reason: v1beta2.ReasonRestoring, Message: "Seed " + seed.Name + " is being restored. The members continue to serve.",
		Limit: state.SlowWaitLimit, Progress: progress,
		Advice: "Read the log of its init container: kubectl logs " + seed.Name + " --all-containers. To cancel, delete the EtcdRestore.",
	}
}

// seedBehind returns why the revision of a seed that serves is too low; empty if it is not.
func seedBehind(s state.State, seed state.Member) string {
	highest := highestRevision(s) // also of what clients have written since the restore began
	switch {
	case seed.Revision < s.Request.Revision:
		return fmt.Sprintf("The seed holds revision %d, but the snapshot holds revision %d.", seed.Revision, s.Request.Revision)
	case s.Restore.RevisionBump > 0 && seed.Revision <= highest:
		return fmt.Sprintf("The seed holds revision %d, but the cluster has had revision %d, so clients would read older revisions. Apply another EtcdRestore with a larger spec.revisionBump.", seed.Revision, highest)
	}
	return ""
}

// FailRestore records that the seed failed. The old cluster was not changed.
type FailRestore struct{ Message string }

func (step FailRestore) describe(state.State) planning.Description {
	return warned(planning.Description{Reason: v1beta2.ReasonRestoring, Message: step.Message, Requeue: state.RequeueSoon}, "RestoreFailed", "Restore")
}

// completeRestore: asked last, so the cluster is at size and well and the old volumes are gone.
func completeRestore(s state.State) Step {
	growing := state.RestoreStep(s) == v1beta2.RestoreGrowing
	for _, m := range s.Members {
		switch {
		case failedSeed(s, m) && m.Pod == state.PodNone && !may(s, DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}):
			// the API server refuses its deletion, which removeFailedSeed reports
		case failedSeed(s, m):
			return waitUntilGone(s, m, v1beta2.ReasonRestoring, "Seed "+m.Name+" of a failed restore is being removed.")
		case m.Incarnation < s.Incarnation && state.Overdue(s, m) && !m.Held:
			return ForceDeletePod{Name: m.Name}
		case m.Incarnation < s.Incarnation && m.Pod == state.PodDeleting:
			return waitUntilGone(s, m, v1beta2.ReasonRestoring, "The Pod of old member "+m.Name+" is being deleted.")
		case m.Incarnation < s.Incarnation && growing && m.Pod != state.PodNone:
			return Wait{Reason: v1beta2.ReasonRestoring, Message: "The Pod of old member " + m.Name + " has yet to be deleted."}
		case m.Incarnation < s.Incarnation && growing:
			return Wait{Reason: v1beta2.ReasonRestoring, Message: "The volume of old member " + m.Name + " is being deleted."}
		}
	}
	if !growing || !state.LeadsClients(s) {
		return nil
	}
	return CompleteRestore{}
}

// CompleteRestore records that the restored cluster is at size and the old volumes are gone.
type CompleteRestore struct{}

func (CompleteRestore) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The restored cluster serves at its full size." + state.TooLate(s),
		Requeue: state.RequeueSoon,
	}, "RestoreComplete", cluster)
}

package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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

func (s State) step() v1beta2.RestoreStep {
	if s.Restore == nil {
		return ""
	}
	return s.Restore.Step
}

// Restoring says whether a restore is under way.
func (s State) Restoring() bool {
	switch s.step() {
	case v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreGrowing:
		return true
	}
	return false
}

func (s State) switching() bool { return s.step() == v1beta2.RestoreSwitching }

// restore takes a verified EtcdRestore through its steps until the seed is the cluster. While the restored cluster
// grows, only another EtcdRestore ends that: the way out when the seed's data is lost before it has company.
func restore(s State) Step {
	switch s.step() {
	case v1beta2.RestoreSeeding:
		return seeding(s)
	case v1beta2.RestoreSwitching:
		return switching(s)
	}
	if s.Request == nil || s.Requested() || s.cannotRead(*s.Request) != "" {
		return nil // reportUnreadableRestore says so
	}
	last := max(s.Incarnation, FirstIncarnation)
	if s.Restore != nil { // its seed may be gone, and its volume not seen yet
		last = max(last, s.Restore.Incarnation)
	}
	for _, m := range s.Members {
		last = max(last, m.Incarnation)
	}
	return BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
		Name:            s.Request.Name,
		UID:             s.Request.UID,
		CreationTime:    s.Request.created(),
		Step:            v1beta2.RestoreSeeding,
		Message:         "The operator is restoring a seed. The members continue to serve.",
		Incarnation:     last + 1,
		ClusterIDBefore: s.ClusterID,
		SpecHash:        s.Request.SpecHash,
		RevisionBefore:  s.highestRevision(),
		RevisionBump:    s.bumpOf(*s.Request),
	}}
}

// cannotRead returns why the cluster does not take up a verified restore; empty if it does.
func (s State) cannotRead(r RestoreRequest) string {
	if !s.tooNew(r.StorageVersion) {
		return ""
	}
	return fmt.Sprintf("The cluster does not start EtcdRestore %s: its snapshot has the format of etcd %s, and spec.version is %s. The cluster was not changed. "+
		"Set spec.version to a release of etcd that reads the snapshot, for example %s.0, or delete the EtcdRestore.", r.Name, r.StorageVersion, s.Spec.EtcdVersion(), minor(r.StorageVersion))
}

// reportUnreadableRestore reports a verified restore that the cluster does not take up.
func reportUnreadableRestore(s State) Step {
	if s.Request == nil || s.Requested() || s.Restoring() {
		return nil
	}
	if why := s.cannotRead(*s.Request); why != "" {
		return Wait{Reason: v1beta2.ReasonSnapshotTooNew, Stalled: true, Message: why}
	}
	return nil
}

// BeginRestore records that a restore is taken up.
type BeginRestore struct{ Restore v1beta2.ClusterRestoreStatus }

func (step BeginRestore) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The operator is restoring EtcdRestore " + step.Restore.Name + " into a seed. The members continue to serve.",
		Requeue: requeueSoon,
	}, "RestoreStarted", cluster)
}

// Requested reports whether the restore that was taken up last is still asked for.
func (s State) Requested() bool {
	return s.Request != nil && s.Restore != nil && s.Request.UID == s.Restore.UID
}

func seeding(s State) Step {
	if !s.Requested() {
		return FailRestore{Message: s.notRequested() + " The seed had not taken over" + s.unchanged() + s.useAnotherName()}
	}
	seed, _ := s.seed()
	if why := s.seedStuck(seed); why != "" {
		return FailRestore{Message: why + " The operator removes the seed. The cluster was not changed."}
	}
	switch {
	case seed.Pod == PodDeleting || (seed.Pod == PodNone && seed.Volume == VolumeDeleting):
		return s.waitUntilGone(seed, v1beta2.ReasonRestoring, "An earlier seed is being removed.")
	case seed.Volume == VolumeDeleting:
		return DeletePod{Name: seed.Name, Reason: v1beta2.ReasonRestoring, Message: "its volume is being deleted, and the seed must be restored again"}
	case seed.Pod == PodNone && s.Durable() && seed.Volume == VolumeNone && s.NoStorageClass:
		return noStorageClass()
	case seed.Pod == PodNone:
		return CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartSeed}
	case seed.seedFailed():
		return FailRestore{Message: planning.Sentence("The seed could not be restored: ", seed.Seed.Message) + " The cluster was not changed."}
	case seed.Pod == PodBlocked:
		return Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The members continue to serve.", Stalled: true}
	case seed.Refusal != etcd.NotRefused:
		return s.saveBeforeRefusal(seed)
	case !seed.Serving || !seed.PodReady:
		return s.waitForSeed(seed)
	}
	if step := s.beforeSwitch(seed); step != nil {
		return step
	}
	return BeginSwitch{ClusterID: seed.ClusterID.String(), Revision: seed.Revision}
}

// Cancelled reports whether the restore under way was deleted or has ended. One that has lost its status is verified again.
func (s State) Cancelled() bool { return !s.Requested() && !s.RestoreUnverified }

// notRequested says why the restore under way is not asked for any more.
func (s State) notRequested() string {
	switch {
	case s.RestoreFailed:
		return "EtcdRestore " + s.Restore.Name + " has failed."
	case s.RestoreUnverified:
		return "EtcdRestore " + s.Restore.Name + " has lost its status."
	}
	return "EtcdRestore " + s.Restore.Name + " was deleted."
}

// unchanged ends the sentence that a seed had not taken over. If the members have no data, or too few have it, nothing continues.
func (s State) unchanged() string {
	if s.Formed() && s.oldMayContinue() {
		return "." + oldContinue
	}
	return ", so the cluster was not changed."
}

// useAnotherName returns the advice for an EtcdRestore that failed or lost its status. It is empty for one that was deleted.
func (s State) useAnotherName() string {
	if s.RestoreFailed || s.RestoreUnverified {
		return " Create an EtcdRestore with another name."
	}
	return ""
}

// beforeSwitch returns what must happen before a seed that serves may take over; nil for nothing.
func (s State) beforeSwitch(seed Member) Step {
	if why := s.seedBehind(seed); why != "" {
		return FailRestore{Message: why + " The cluster was not changed."}
	}
	if why := s.heldUp(); why != "" {
		return FailRestore{Message: why}
	}
	if step := s.cannotHandOver(); step != nil {
		return step
	}
	return s.safetySnapshot()
}

// waitForSeed waits until a seed serves, or until its Pod is created again after it failed.
func (s State) waitForSeed(seed Member) Step {
	if wait := s.waitForAttempt([]Member{seed}); wait != nil {
		return wait
	}
	progress := int64(0)
	if seed.Seed != nil {
		progress = int64(seed.Seed.Percent)
	}
	return Wait{
		Reason: v1beta2.ReasonRestoring, Message: "Seed " + seed.Name + " is being restored. The members continue to serve.",
		Limit: slowWaitLimit, Progress: progress,
		Advice: "Read the log of its init container: kubectl logs " + seed.Name + " --all-containers. To cancel, delete the EtcdRestore.",
	}
}

// seedBehind returns why the revision of a seed that serves is too low; empty if it is not.
func (s State) seedBehind(seed Member) string {
	highest := s.highestRevision() // also of what clients have written since the restore began
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

func (step FailRestore) describe(State) planning.Description {
	return warned(planning.Description{Reason: v1beta2.ReasonRestoring, Message: step.Message, Requeue: requeueSoon}, "RestoreFailed", "Restore")
}

// seed is the first member of the incarnation that a restore makes; false when nothing of it is there yet.
func (s State) seed() (Member, bool) { return s.seedOf(s.Restore.Incarnation) }

func (s State) seedOf(incarnation int32) (Member, bool) {
	name := memberName(s.Name, s.UID, incarnation, 0)
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{Name: name, Incarnation: incarnation}, false
}

// completeRestore: asked last, so the cluster is at size and well and the old volumes are gone.
func completeRestore(s State) Step {
	growing := s.step() == v1beta2.RestoreGrowing
	for _, m := range s.Members {
		switch {
		case s.failedSeed(m) && m.Pod == PodNone && !s.may(DeleteVolume{Name: m.Name, Reason: v1beta2.ReasonRestoring}):
			// the API server refuses its deletion, which removeFailedSeed reports
		case s.failedSeed(m):
			return s.waitUntilGone(m, v1beta2.ReasonRestoring, "Seed "+m.Name+" of a failed restore is being removed.")
		case m.Incarnation < s.Incarnation && s.overdue(m) && !m.Held:
			return ForceDeletePod{Name: m.Name}
		case m.Incarnation < s.Incarnation && m.Pod == PodDeleting:
			return s.waitUntilGone(m, v1beta2.ReasonRestoring, "The Pod of old member "+m.Name+" is being deleted.")
		case m.Incarnation < s.Incarnation && growing && m.Pod != PodNone:
			return Wait{Reason: v1beta2.ReasonRestoring, Message: "The Pod of old member " + m.Name + " has yet to be deleted."}
		case m.Incarnation < s.Incarnation && growing:
			return Wait{Reason: v1beta2.ReasonRestoring, Message: "The volume of old member " + m.Name + " is being deleted."}
		}
	}
	if !growing || !s.leadsClients() {
		return nil
	}
	return CompleteRestore{}
}

// CompleteRestore records that the restored cluster is at size and the old volumes are gone.
type CompleteRestore struct{}

func (CompleteRestore) describe(s State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The restored cluster serves at its full size." + s.tooLate(),
		Requeue: requeueSoon,
	}, "RestoreComplete", cluster)
}

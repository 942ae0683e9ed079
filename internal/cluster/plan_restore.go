package cluster

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
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

// maxSeedFailures ended runs of the seed's init container make the restore fail; each run retries by itself first.
const maxSeedFailures = 3

func (s State) step() v1beta2.RestoreStep {
	if s.Restore == nil {
		return ""
	}
	return s.Restore.Step
}

// restoring says whether a restore is under way.
func (s State) restoring() bool {
	switch s.step() {
	case v1beta2.RestoreSeeding, v1beta2.RestoreSwitching, v1beta2.RestoreGrowing:
		return true
	}
	return false
}

func (s State) switching() bool { return s.step() == v1beta2.RestoreSwitching }

// restore takes a verified EtcdRestore through its steps until the seed is the cluster.
func restore(s State) Step {
	switch s.step() {
	case v1beta2.RestoreSeeding:
		return seeding(s)
	case v1beta2.RestoreSwitching:
		return switching(s)
	case v1beta2.RestoreGrowing:
		return nil
	}
	if s.Request == nil || (s.Restore != nil && s.Restore.UID == s.Request.UID) {
		return nil
	}
	next := s.Incarnation
	for _, m := range s.Members {
		next = max(next, m.Incarnation)
	}
	return BeginRestore{Restore: v1beta2.ClusterRestoreStatus{
		Name:            s.Request.Name,
		UID:             s.Request.UID,
		Step:            v1beta2.RestoreSeeding,
		Message:         "restoring a seed beside the members that serve",
		Incarnation:     next + 1,
		ClusterIDBefore: s.ClusterID,
	}}
}

func seeding(s State) Step {
	if s.Request == nil || s.Request.UID != s.Restore.UID {
		return FailRestore{Message: "EtcdRestore " + s.Restore.Name + " was deleted before the cluster was switched: nothing was changed"}
	}
	seed, _ := s.seed()
	switch {
	case seed.Pod == PodDeleting || seed.Volume == VolumeDeleting:
		return Wait{Why: v1beta2.ReasonRestoring, Message: "an earlier seed is being removed"}
	case seed.Pod == PodNone && s.Durable() && seed.Volume == VolumeNone && s.NoStorageClass:
		return noStorageClass()
	case seed.Pod == PodNone:
		return CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartSeed}
	case seed.Seed != nil && (seed.Seed.Hopeless || seed.Seed.Failures >= maxSeedFailures):
		return FailRestore{Message: "the seed could not be restored: " + seed.Seed.Message + "; the cluster was not touched"}
	case seed.Pod == PodBlocked:
		return Wait{Why: seed.PodReason, Message: "seed " + seed.Name + ": " + seed.PodMessage + "; the members go on serving"}
	case !seed.Serving || !seed.PodReady:
		return Wait{Why: v1beta2.ReasonRestoring, Message: "seed " + seed.Name + " is being restored; the members go on serving"}
	case seed.Revision < s.Request.Revision:
		return FailRestore{Message: fmt.Sprintf("the seed holds revision %d and the snapshot %d; the cluster was not touched", seed.Revision, s.Request.Revision)}
	}
	return BeginSwitch{ClusterID: seed.ClusterID.String(), Revision: seed.Revision}
}

func switching(s State) Step {
	for _, m := range s.Members {
		if m.Incarnation == s.Restore.Incarnation {
			continue
		}
		if m.Pod != PodNone && m.Pod != PodDeleting {
			return StopMembers{Except: s.Restore.Incarnation}
		}
	}
	for _, m := range s.Members {
		if m.Incarnation != s.Restore.Incarnation && m.Pod == PodDeleting {
			return Wait{Why: v1beta2.ReasonRestoring, Message: "member " + m.Name + " is stopping; then the seed serves"}
		}
	}
	seed, _ := s.seed()
	switch {
	case seed.Pod == PodNone && s.Durable():
		return CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartRejoin}
	case seed.Pod == PodNone && s.Request != nil:
		return CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartSeed}
	case !seed.Serving:
		return Wait{Why: v1beta2.ReasonRestoring, Message: "seed " + seed.Name + " does not serve: " + seed.Unanswered}
	}
	return AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// seed is the first member of the incarnation that a restore makes; false when nothing of it is there yet.
func (s State) seed() (Member, bool) {
	name := memberName(s.Name, s.UID, s.Restore.Incarnation, 0)
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{Name: name, Incarnation: s.Restore.Incarnation}, false
}

// removeStrays removes what a failed restore left: a seed that never served and never will.
func removeStrays(s State) Step {
	if s.restoring() {
		return nil
	}
	for _, m := range s.Members {
		stray := m.Incarnation > s.Incarnation && m.InitialSize == 0
		switch {
		case !stray:
		case m.Pod != PodNone && m.Pod != PodDeleting:
			return DeletePod{Name: m.Name, Why: v1beta2.ReasonRestoring, Message: "remove the seed of a restore that failed"}
		case m.Pod == PodNone && m.Volume == VolumePresent:
			return DeleteVolume{Name: m.Name, Why: v1beta2.ReasonRestoring}
		}
	}
	return nil
}

// completeRestore: asked last, so the cluster is at size and well and the old volumes are gone.
func completeRestore(s State) Step {
	if s.step() != v1beta2.RestoreGrowing {
		return nil
	}
	for _, m := range s.Members {
		if m.Incarnation < s.Incarnation {
			return Wait{Why: v1beta2.ReasonRestoring, Message: "the volume of " + m.Name + " is being deleted"}
		}
	}
	return CompleteRestore{}
}

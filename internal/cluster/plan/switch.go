package plan

import (
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginSwitch records that the seed is proven. From here there is no way back.
type BeginSwitch struct {
	ClusterID string
	Revision  int64
}

func (step BeginSwitch) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: fmt.Sprintf("The seed serves the snapshot at revision %d. The operator stops the old members, and then the seed takes over.", step.Revision),
		Requeue: requeueSoon,
	}, "RestoreSwitching", cluster)
}

// StopMembers stops every member that is not of one incarnation, 0 for none. Volumes are kept.
type StopMembers struct{ Except int32 }

func (step StopMembers) describe(State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRestoring, Message: "The operator is stopping the old members.", Requeue: requeueStarting}
	if step.Except == 0 {
		d.Reason, d.Message = v1beta2.ReasonCreating, "A member was lost before the cluster had formed. The operator is stopping the others to start again."
	}
	return d
}

// AdoptSeed records that the seed is the cluster now.
type AdoptSeed struct {
	ClusterID   string
	Incarnation int32
}

func (step AdoptSeed) describe(s State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: "The seed is the cluster now, with ID " + step.ClusterID + "." + s.tooLate(),
		Requeue: requeueSoon,
	}, "RestoreSwitched", cluster)
}

// switching stops the old members, and then the seed is the cluster. As long as they run, they stop only for a seed
// that serves.
func switching(s State) Step {
	notYet := s.seedServes()
	for _, m := range s.Members {
		if m.Incarnation == s.Restore.Incarnation || m.Pod == PodNone || m.Pod == PodDeleting {
			continue
		}
		if notYet != nil {
			return notYet
		}
		return StopMembers{Except: s.Restore.Incarnation}
	}
	if step := oldMemberStops(s); step != nil {
		return step
	}
	if notYet != nil {
		return notYet
	}
	return AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// seedServes says nothing when the proven seed serves. If its data is lost all the same, it is restored once more,
// and if that cannot be, the old members go on, on their volumes.
func (s State) seedServes() Step {
	seed, _ := s.seed()
	if why := s.seedStuck(seed); why != "" {
		return FailRestore{Message: why + "; the old members go on"}
	}
	switch {
	case seed.Pod == PodNone || seed.Pod == PodDeleting:
		return s.recreateSeed(seed)
	case seed.Pod == PodBlocked && !s.requested():
		return FailRestore{Message: "the seed does not start, and EtcdRestore " + s.Restore.Name + " is gone: the old members go on"}
	case seed.seedFailed():
		return FailRestore{Message: "the seed was lost, and could not be restored again: " + seed.Seed.Message + "; the old members go on"}
	case seed.Pod == PodBlocked:
		return Wait{Reason: seed.PodReason, Message: "seed " + seed.Name + ": " + seed.PodMessage, Stalled: true}
	case !seed.Serving:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: "seed " + seed.Name + " does not serve: " + seed.Unanswered}
	case seed.Revision < s.Restore.Revision:
		return FailRestore{Message: fmt.Sprintf("the seed was lost, and restored again it holds revision %d and not %d; the old members go on", seed.Revision, s.Restore.Revision)}
	}
	return nil
}

// recreateSeed makes the Pod of a proven seed again, on its volume where that is still there.
func (s State) recreateSeed(seed Member) Step {
	create := CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartSeed}
	switch {
	case seed.Pod == PodDeleting || seed.Volume == VolumeDeleting:
		return s.waitUntilGone(seed, v1beta2.ReasonRestoring, "seed "+seed.Name+" is being made again")
	case seed.Volume == VolumePresent && !s.requested():
		create.Start = StartRejoin
		return create
	case !s.requested():
		return FailRestore{Message: "the seed was lost, and EtcdRestore " + s.Restore.Name + " is gone: the old members go on"}
	case seed.Volume == VolumeNone && s.Durable() && s.NoStorageClass:
		return noStorageClass()
	}
	return create // data that is complete is kept
}

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
		Message: "The old members acknowledge no more writes. The restored cluster has the ID " + step.ClusterID + "." + s.tooLate(),
		Requeue: requeueAtOnce,
	}, "RestoreSwitched", cluster)
}

// switching stops the old members, and then the seed is the cluster. As long as they run, they stop only for a seed
// that serves. A Pod that has ended is no reason to wait: if the API server refuses to delete its object, clients would wait, too.
func switching(s State) Step {
	notYet := s.seedServes()
	for _, m := range s.Members {
		if m.Incarnation == s.Restore.Incarnation || m.Pod == PodNone || m.Pod == PodDeleting || m.Pod == PodEnded {
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

// oldContinue ends the message of a restore that fails while it switches.
const oldContinue = " The old members continue with their data."

// seedServes says nothing when the proven seed serves. If its data is lost all the same, it is restored once more,
// and if that cannot be, the old members go on, on their volumes.
func (s State) seedServes() Step {
	seed, _ := s.seed()
	why := s.seedStuck(seed)
	switch {
	case why != "" && s.oldDataLost():
		return Wait{
			Reason: v1beta2.ReasonRestoring, Stalled: true,
			Message: why + " No data of the old members is left, so the operator keeps the seed. Delete Pod " + seed.Name + " to start it again.",
		}
	case why != "" && s.requested() && s.oldLacksQuorum():
		return Wait{
			Reason: v1beta2.ReasonRestoring, Stalled: true,
			Message: fmt.Sprintf("%s Only %d of %d voters of the old cluster have their data, so the operator keeps the seed. Delete Pod %s to start it again. To give the seed up, delete EtcdRestore %s.",
				why, len(s.oldHolders()), s.oldVoters(), seed.Name, s.Restore.Name),
		}
	case why != "":
		return FailRestore{Message: why + oldContinue}
	case seed.Pod == PodNone || seed.Pod == PodDeleting:
		return s.recreateSeed(seed)
	case seed.Pod == PodBlocked && !s.requested():
		return FailRestore{Message: "The seed does not start, and EtcdRestore " + s.Restore.Name + " was deleted." + oldContinue}
	case seed.seedFailed():
		return FailRestore{Message: planning.Sentence("The seed was lost, and could not be restored again: ", seed.Seed.Message) + oldContinue}
	case s.backsOff(seed):
		return s.waitForAttempt([]Member{seed})
	case seed.Pod == PodBlocked:
		return Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The restore continues when it serves.", Stalled: true}
	case !seed.Serving:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: planning.Sentence("Seed "+seed.Name+" does not serve: ", seed.cause())}
	case seed.Revision < s.Restore.Revision:
		return FailRestore{Message: fmt.Sprintf("The seed was lost. After another restore it holds revision %d instead of %d."+oldContinue, seed.Revision, s.Restore.Revision)}
	}
	return nil
}

// recreateSeed makes the Pod of a proven seed again, on its volume where that is still there.
func (s State) recreateSeed(seed Member) Step {
	create := CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartSeed}
	switch {
	case seed.Pod == PodDeleting || seed.Volume == VolumeDeleting:
		return s.waitUntilGone(seed, v1beta2.ReasonRestoring, "Seed "+seed.Name+" is being recreated.")
	case seed.Volume == VolumePresent && !s.requested():
		create.Start = StartRejoin
		return create
	case !s.requested():
		return FailRestore{Message: "The seed was lost, and EtcdRestore " + s.Restore.Name + " was deleted." + oldContinue}
	case seed.Volume == VolumeNone && s.Durable() && s.NoStorageClass:
		return noStorageClass()
	}
	return create // data that is complete is kept
}

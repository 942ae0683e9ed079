package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginSwitch records that the seed is proven. From here, the old members stop.
type BeginSwitch struct {
	ClusterID string
	Revision  int64
}

func (step BeginSwitch) describe(State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: fmt.Sprintf("The seed serves the snapshot at revision %d. The operator refuses writes to the old members, or stops them, and then the seed takes over.", step.Revision),
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
		Message: s.whatIsLost() + " The restored cluster has the ID " + step.ClusterID + "." + s.tooLate(),
		Requeue: requeueSoon,
	}, "RestoreSwitched", cluster)
}

// switching fences the old members, or stops them if no quorum of them answers, and then the seed is the cluster. While they can be a
// quorum, they stop only for a seed that serves.
func switching(s State) Step {
	if step := s.reconsider(); step != nil {
		return step
	}
	notYet, run := s.seedServes(), s.oldRun()
	if run && notYet == nil {
		if step := s.fenceOld(); step != nil {
			return step
		}
	}
	if notYet == nil {
		if step := s.exactSnapshot(); step != nil {
			return step
		}
	}
	if notYet == nil && s.WritesFenced() {
		return s.adoptSeed()
	}
	if run && notYet == nil {
		if step := s.cannotHandOver(); step != nil && s.oldQuorumRuns() {
			return step // nothing was stopped yet
		}
		return StopMembers{Except: s.Restore.Incarnation}
	}
	if step := oldMemberStops(s); !run && step != nil {
		return step
	}
	if notYet != nil {
		return notYet
	}
	if step := foreignQuorum(s); step != nil {
		return step
	}
	return s.adoptSeed()
}

// adoptSeed makes the seed the cluster. It is read-only before, if the spec asks for that.
func (s State) adoptSeed() Step {
	if step := s.fenceSeed(); step != nil {
		return step
	}
	return AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// oldRun reports whether old members must be asked to stop before the seed takes over. A Pod that has ended is no reason to wait: if
// the API server refuses to delete its object, clients would wait, too. Neither are voters that are too few for a quorum: they
// acknowledge no write. The API server may have deleted the others, and then refuse these. They are deleted after the switch.
func (s State) oldRun() bool {
	voters := s.oldRunning()
	asked := !slices.ContainsFunc(voters, func(m Member) bool { return m.Pod != PodDeleting })
	return !asked && s.trusting().haveQuorum(voters)
}

// oldRunning returns the voters of the old cluster whose Pods may run.
func (s State) oldRunning() []Member {
	return s.where(func(m Member) bool {
		return s.mayVote(m) && m.Pod != PodNone && m.Pod != PodEnded && !m.Stopped
	})
}

// seedServes returns nil if the proven seed serves. If its data is lost, it is restored again. If that is not possible, the old members
// continue with their data.
func (s State) seedServes() Step {
	seed, _ := s.seed()
	why := s.seedStuck(seed)
	switch {
	case why != "":
		return s.keepSeed(seed, why)
	case seed.Pod == PodNone || seed.Pod == PodDeleting:
		return s.recreateSeed(seed)
	case seed.Pod == PodBlocked && s.Cancelled():
		return s.keepSeed(seed, "The seed does not start. "+s.notRequested())
	case seed.seedFailed():
		return s.failSwitch(planning.Sentence("The seed was lost, and could not be restored again: ", seed.Seed.Message))
	case s.backsOff(seed):
		return s.waitForAttempt([]Member{seed})
	case seed.Pod == PodBlocked:
		return Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The restore continues when it serves.", Stalled: true}
	case !seed.Serving:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: planning.Sentence("Seed "+seed.Name+" does not serve: ", seed.cause())}
	case seed.Revision < s.Restore.Revision:
		return s.keepSeed(seed, fmt.Sprintf("The seed was lost. After another restore it holds revision %d instead of %d.", seed.Revision, s.Restore.Revision))
	}
	return nil
}

// orReturn says how to give the restore up, if the old members can continue.
func (s State) orReturn() string {
	if s.oldMayContinue() {
		return " To return to the old members, delete the EtcdRestore."
	}
	return s.fewHolders() + "."
}

// recreateSeed makes the Pod of a proven seed again, on its volume where that is still there.
func (s State) recreateSeed(seed Member) Step {
	create := CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: StartSeed}
	switch {
	case seed.Pod == PodDeleting || seed.Volume == VolumeDeleting:
		return s.waitUntilGone(seed, v1beta2.ReasonRestoring, "Seed "+seed.Name+" is being recreated.")
	case seed.Volume == VolumePresent && !s.Requested():
		create.Start = StartRejoin
		return create
	case s.Cancelled():
		return s.failSwitch("The seed was lost. " + s.notRequested())
	case !s.Requested():
		return Wait{
			Reason: v1beta2.ReasonRestoring, Stalled: true,
			Message: "The seed was lost. " + s.notRequested() + " The operator restores the seed again when restore-operator has verified it." + s.orReturn(),
		}
	case seed.Volume == VolumeNone && s.Durable() && s.NoStorageClass:
		return noStorageClass()
	}
	return create // data that is complete is kept
}

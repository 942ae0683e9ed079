package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// BeginSwitch records that the seed is proven. From here, the old members stop.
type BeginSwitch struct {
	ClusterID string
	Revision  int64
}

func (step BeginSwitch) describe(state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: fmt.Sprintf("The seed serves the snapshot at revision %d. The operator refuses writes to the old members, or stops them, and then the seed takes over.", step.Revision),
		Requeue: state.RequeueSoon,
	}, "RestoreSwitching", cluster)
}

// StopMembers stops every member that is not of one incarnation, 0 for none. Volumes are kept.
type StopMembers struct{ Except int32 }

func (step StopMembers) describe(state.State) planning.Description {
	d := planning.Description{Reason: v1beta2.ReasonRestoring, Message: "The operator is stopping the old members.", Requeue: state.RequeueStarting}
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

func (step AdoptSeed) describe(s state.State) planning.Description {
	return announced(planning.Description{
		Reason:  v1beta2.ReasonRestoring,
		Message: state.WhatIsLost(s) + " The restored cluster has the ID " + step.ClusterID + "." + state.TooLate(s),
		Requeue: state.RequeueSoon,
	}, "RestoreSwitched", cluster)
}

// switching fences the old members, or stops them if no quorum of them answers, and then the seed is the cluster. While they can be a
// quorum, they stop only for a seed that serves.
func switching(s state.State) Step {
	if step := reconsider(s); step != nil {
		return step
	}
	notYet, run := seedServes(s), oldRun(s)
	if run && notYet == nil {
		if step := fenceOld(s); step != nil {
			return step
		}
	}
	if notYet == nil {
		if step := exactSnapshot(s); step != nil {
			return step
		}
	}
	if notYet == nil && WritesFenced(s) {
		return adoptSeed(s)
	}
	if run && notYet == nil {
		if step := cannotHandOver(s); step != nil && oldQuorumRuns(s) {
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
	return adoptSeed(s)
}

// adoptSeed makes the seed the cluster. It is read-only before, if the spec asks for that.
func adoptSeed(s state.State) Step {
	if step := fenceSeed(s); step != nil {
		return step
	}
	return AdoptSeed{ClusterID: s.Restore.ClusterID, Incarnation: s.Restore.Incarnation}
}

// oldRun reports whether old members must be asked to stop before the seed takes over. A Pod that has ended is no reason to wait: if
// the API server refuses to delete its object, clients would wait, too. Neither are voters that are too few for a quorum: they
// acknowledge no write. The API server may have deleted the others, and then refuse these. They are deleted after the switch.
func oldRun(s state.State) bool {
	voters := oldRunning(s)
	asked := !slices.ContainsFunc(voters, func(m state.Member) bool { return m.Pod != state.PodDeleting })
	return !asked && haveQuorum(trusting(s), voters)
}

// oldRunning returns the voters of the old cluster whose Pods may run.
func oldRunning(s state.State) []state.Member {
	return s.Where(func(m state.Member) bool {
		return mayVote(s, m) && m.Pod != state.PodNone && m.Pod != state.PodEnded && !m.Stopped
	})
}

// seedServes returns nil if the proven seed serves. If its data is lost, it is restored again. If that is not possible, the old members
// continue with their data.
func seedServes(s state.State) Step {
	seed, _ := state.SeedMember(s)
	why := seedStuck(s, seed)
	switch {
	case why != "":
		return keepSeed(s, seed, why)
	case seed.Pod == state.PodNone || seed.Pod == state.PodDeleting:
		return recreateSeed(s, seed)
	case seed.Pod == state.PodBlocked && state.Cancelled(s):
		return keepSeed(s, seed, "The seed does not start. "+state.NotRequested(s))
	case seed.SeedFailed():
		return failSwitch(s, planning.Sentence("The seed was lost, and could not be restored again: ", seed.Seed.Message))
	case state.BacksOff(s, seed):
		return waitForAttempt(s, []state.Member{seed})
	case seed.Pod == state.PodBlocked:
		return Wait{Reason: seed.PodReason, Message: planning.Sentence("Seed "+seed.Name+" does not run: ", seed.PodMessage) + " The restore continues when it serves.", Stalled: true}
	case !seed.Serving:
		return Wait{Reason: v1beta2.ReasonRestoring, Message: planning.Sentence("Seed "+seed.Name+" does not serve: ", seed.Cause())}
	case seed.Revision < s.Restore.Revision:
		return keepSeed(s, seed, fmt.Sprintf("The seed was lost. After another restore it holds revision %d instead of %d.", seed.Revision, s.Restore.Revision))
	}
	return nil
}

// orReturn says how to give the restore up, if the old members can continue.
func orReturn(s state.State) string {
	if oldMayContinue(s) {
		return " To return to the old members, delete the EtcdRestore."
	}
	return fewHolders(s) + "."
}

// recreateSeed makes the Pod of a proven seed again, on its volume where that is still there.
func recreateSeed(s state.State, seed state.Member) Step {
	create := CreateMember{Name: seed.Name, Incarnation: s.Restore.Incarnation, Start: state.StartSeed}
	switch {
	case seed.Pod == state.PodDeleting || seed.Volume == state.VolumeDeleting:
		return waitUntilGone(s, seed, v1beta2.ReasonRestoring, "Seed "+seed.Name+" is being recreated.")
	case seed.Volume == state.VolumePresent && !s.Requested():
		create.Start = state.StartRejoin
		return create
	case state.Cancelled(s):
		return failSwitch(s, "The seed was lost. "+state.NotRequested(s))
	case !s.Requested():
		return Wait{
			Reason: v1beta2.ReasonRestoring, Stalled: true,
			Message: "The seed was lost. " + state.NotRequested(s) + " The operator restores the seed again when restore-operator has verified it." + orReturn(s),
		}
	case seed.Volume == state.VolumeNone && s.Durable() && s.NoStorageClass:
		return noStorageClass()
	}
	return create // data that is complete is kept
}

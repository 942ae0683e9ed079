// Package check compares the steps of the planner, and a world that is done, with the invariants.
package check

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/effects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Step compares a step that is about to be done with the invariants that a single step can break:
// 1, 2, 4, 5 and 7. A breach of 3 shows when a Pod starts, and one of 6 when the world runs on.
func Step(w *world.World, step steps.Step) {
	l := w.Formed()
	checkTime(w, step)
	switch step := step.(type) {
	case steps.AddLearner, steps.PromoteLearner, steps.RemoveMember, steps.MoveLeader:
		checkChange(w, l, step)
	case steps.DeletePod:
		checkSeedStop(w, w.Pod(step.Name), step)
		checkStop(w, l, step)
	case steps.DefragmentMember:
		checkDefragment(w, l, step)
	case steps.DisarmAlarm:
		checkDisarm(w, l, step)
	case steps.StopMembers:
		checkHandover(w)
	case steps.DeleteVolume:
		checkStandby(w, step.Name)
		checkDelete(w, l, step.Name)
		checkOutlived(w, step.Name)
	case steps.SetAsideVolume:
		checkDelete(w, l, step.Name)
	case steps.ForceDeletePod:
		checkForceDelete(w, l, step)
	case steps.CreateMember:
		checkAlone(w, step)
		checkEarlier(w, l, step)
	case steps.BeginRecovery:
		checkRecovery(w, l, step)
	case steps.BeginRestore:
		checkOnce(w, step)
	case steps.CreateMembers:
		if l != nil {
			w.Violate(world.OneIdentityOneHistory, "a formed cluster is bootstrapped a second time")
		}
	case steps.Wait:
		checkFencedWait(w, l, step)
	case steps.UnfenceWrites:
		checkUnfence(w, l)
	case steps.PromoteStandby:
		checkPromotion(w, step.Name)
	case steps.AdoptSeed:
		checkAdopt(w, step)
	}
}

// checkChange: a change of the membership, or of who leads.
func checkChange(w *world.World, l *world.Life, step steps.Step) {
	switch step := step.(type) {
	case steps.AddLearner:
		checkAdd(w, l, step)
	case steps.PromoteLearner:
		checkQuorum(w, l, "a learner is promoted")
	case steps.RemoveMember:
		checkRemove(w, l, step)
	case steps.MoveLeader:
		checkMove(w, l)
	}
}

// checkFencedWait: the operator waits for nothing while a restore has fenced the members, unless it cannot ask them.
func checkFencedWait(w *world.World, l *world.Life, step steps.Wait) {
	unseen := w.BehindCache && step.Reason == v1beta2.ReasonMembersUnreachable // an old cache has none of the members
	if effects.WaitsForExact(w) || unseen {
		return
	}
	if l != nil && l.Leader != 0 && restoreFences(w, l) && observe.Audible(w, l) && w.SecretProblem == "" {
		w.Violate(world.EveryRunSettles, "the operator waits (%s) while a fence refuses writes", step.Reason)
	}
}

// restoreFences reports whether a fence of a life is one of a restore.
func restoreFences(w *world.World, l *world.Life) bool {
	return slices.ContainsFunc(l.Fences, func(id etcd.ID) bool { return id != w.ReadOnlyFence() })
}

// Stale holds a step that was planned from an old state against what no old state excuses.
func Stale(w *world.World, step steps.Step) {
	if step, ok := step.(steps.DeleteVolume); ok {
		v := w.Volume(step.Name)
		if l := w.Formed(); l != nil && v != nil && v.Data != nil && v.Data.Cluster == l.ID && l.ByID(v.Data.Member) != nil {
			w.Violate(world.DataIsKept, "volume %s of a member is deleted", step.Name)
		}
	}
}

// checkTime holds a step that depends on the time against the true time.
func checkTime(w *world.World, step steps.Step) {
	switch step := step.(type) {
	case steps.RemoveMember:
		p := w.Pod(step.Name)
		grace := int(w.Cluster.Spec.MemberReplacementGrace() / time.Second)
		if step.Unresponsive() && p != nil && !observe.SilentFor(w, p, grace) && w.Now-p.UnreadySince < grace {
			w.Violate(world.DataIsKept, "%s is replaced after %d s without an answer, and %d s are allowed", step.Name, w.Now-p.UnreadySince, grace)
		}
		checkExpected(w, step, p, min(grace, shortGrace))
	case steps.DeleteVolume:
		kept := int(w.Cluster.Spec.KeepReplacedVolumes() / time.Second)
		for _, v := range w.Volumes {
			if v.Name == step.Name && v.Aside && w.Now-v.Since < kept {
				w.Violate(world.DataIsKept, "volume %s with the data from before is deleted after %d s, and is kept for %d s", step.Name, w.Now-v.Since, kept)
			}
		}
	}
}

// checkExpected: the time as a learner and the time without a quorum are not the member's failure.
func checkExpected(w *world.World, step steps.RemoveMember, p *world.Pod, grace int) {
	l := w.Formed()
	if l == nil || p == nil || !step.Unresponsive() || w.TLS != nil { // there the operator remembers for itself, and a short loss of quorum is no reason to begin anew
		return
	}
	if e := l.ByID(step.ID); e != nil && !e.Learner && w.Now-p.ExpectedSince < grace {
		w.Violate(world.DataIsKept, "%s is replaced %d s after it could serve at the earliest, and %d s are allowed", step.Name, w.Now-p.ExpectedSince, grace)
	}
}

// shortGrace is how long a voter may fail at least, in seconds, after it got its vote or after a quorum was elected.
const shortGrace = 60

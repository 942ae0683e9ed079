package run

import (
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/cas"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/check"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/fault"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/observe"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Outcome of a run.
type Outcome struct {
	// Steps that were taken; waits are not among them.
	Steps []steps.Step
	// Passes that it took.
	Passes int
	// Last is Done, a Wait or Idle.
	Last steps.Step
	// Settled is false when the run had to be cut short.
	Settled bool
}

// CheckEnd holds the end of a run against invariant 6: done, or a state that says what a person must do.
func CheckEnd(w *world.World, o Outcome) {
	if len(w.Violations) > 0 {
		return
	}
	switch last := o.Last.(type) {
	case steps.Done, steps.VolumeMayFill, steps.Advice:
		check.Done(w)
		return
	case steps.Hibernating:
		check.Asleep(w)
		return
	case steps.Idle:
		return
	case steps.Wait:
		if l := w.Formed(); l != nil && last.Reason == v1beta2.ReasonQuorumLost && couldHaveQuorum(w, l) && !anyHung(w) && !forUserOfTLS(w, last) && !misrecorded(w, l) {
			w.Violate(world.EveryRunSettles, "QuorumLost is reported, but quorum is not lost: %s", last.Message)
		}
		if o.Settled && (restartsByHand(w, last) || forUserOfTLS(w, last) || last.Stalled && last.Reason != v1beta2.ReasonWaitTooLong || last.Reason == v1beta2.ReasonWaitingForRestore) {
			return
		}
	}
	w.Violate(world.EveryRunSettles, "after %d passes the last step is %T %+v", o.Passes, o.Last, o.Last)
}

func anyHung(w *world.World) bool {
	if l := w.Formed(); l != nil && raft.Foreigners(l) > 0 {
		return true // the operator cannot see whether they run
	}
	return slices.ContainsFunc(w.Pods, func(p world.Pod) bool { return p.Hung || p.Deaf || p.CutOff })
}

// CheckLost holds the end of a repaired world against what it says was lost for good.
func CheckLost(w *world.World, o Outcome) {
	wait, waits := o.Last.(steps.Wait)
	if !waits || len(w.Violations) > 0 {
		return
	}
	l := w.Formed()
	if wait.Stalled && !w.Gentle && l != nil && !couldHaveQuorum(w, l) && !couldRecover(w, l) {
		return
	}
	if l == nil && wait.Stalled {
		return
	}
	if (wait.Stalled && (forPerson(w, wait) || forUserOfTLS(w, wait))) || refused(wait) || (wait.Reason == v1beta2.ReasonVersionNotSupported && runsAnotherMinor(w)) {
		return
	}
	w.Violate(world.EveryRunSettles, "after all faults were removed, the last step is %+v", wait)
}

// refused says whether a run ended because an annotation asks for what could leave no quorum.
func refused(wait steps.Wait) bool {
	return wait.Stalled && wait.Reason == v1beta2.ReasonRequestRefused
}

// runsAnotherMinor says whether a Pod runs a minor version that the spec does not ask for: a restore may have
// started with what was refused for the cluster before it.
func runsAnotherMinor(w *world.World) bool {
	return slices.ContainsFunc(w.Pods, func(p world.Pod) bool { return p.Version[:4] != w.Cluster.Spec.Version[:4] })
}

// forPerson says whether only a person can end a stalled wait: what to delete and whose data is right is for a person to say,
// and etcd may need the votes of members that the operator cannot see.
func forPerson(w *world.World, wait steps.Wait) bool {
	switch wait.Reason {
	case v1beta2.ReasonNoSpace, v1beta2.ReasonDataCorrupt, v1beta2.ReasonForeignMember:
		return true
	case v1beta2.ReasonPodFailing:
		return strings.Contains(wait.Message, v1beta2.AnnotationFence)
	case v1beta2.ReasonAnotherVolume:
		return w.StatusLost && strings.Contains(wait.Message, "The status is lost")
	case v1beta2.ReasonRecovering:
		return losesSurvivor(w)
	case v1beta2.ReasonQuorumLost:
		l := w.Formed()
		return namesForeignQuorum(w, wait.Message) || l != nil && (misrecorded(w, l) || w.StatusLost && raft.Foreigners(l) > 0)
	}
	return false
}

// namesForeignQuorum says whether a message names all foreign voters, which are the quorum: no voter is left that the
// operator could ask to change the membership, or could start with its data.
func namesForeignQuorum(w *world.World, message string) bool {
	l := w.Formed()
	if l == nil || l.Leader == 0 || raft.OwnVoters(w, l).Healthy > 0 {
		return false
	}
	return !slices.ContainsFunc(l.Entries, func(e world.Entry) bool {
		d := w.DataOf(e.Name)
		could := !e.Foreign && d != nil && d.Cluster == l.ID && d.Member == e.ID && !d.Corrupt
		return !e.Learner && (could || (e.Foreign && !strings.Contains(message, e.ID.String())))
	})
}

// losesSurvivor says whether the one survivor's volume is being deleted, which only a person may give up.
func losesSurvivor(w *world.World) bool {
	return slices.ContainsFunc(w.Pods, func(p world.Pod) bool {
		v := w.Volume(p.Name)
		return p.Start == state.StartForce && v != nil && (v.Deleting || v.Lost)
	})
}

// misrecorded says whether an old record that a person brought back names other volumes than members have. The operator cannot tell them
// from copies, and asks.
func misrecorded(w *world.World, l *world.Life) bool {
	return w.Backup != nil && slices.ContainsFunc(l.Entries, func(e world.Entry) bool {
		v, recorded := w.Volume(e.Name), w.Recorded(e.Name)
		return v != nil && recorded.Claim != "" && recorded != world.VolumeID(v)
	})
}

// couldRecover says whether the consent is there and a voter to go on from, and nothing is in the way of it: a volume
// that is about to go with its Pod, or corrupt data, which nobody but a person gives up. Data in a Pod is lost if the Pod restarts with
// --force-new-cluster, so the operator continues from no such voter, although the spec asks for volumes by now.
func couldRecover(w *world.World, l *world.Life) bool {
	if !w.Cluster.Spec.ForcesNewCluster() || fault.Losing(w) || len(observe.Observe(w).KnownVoters) == 0 {
		return false // how many voters there were is lost with the status, and no member answers that knows it
	}
	if mayKnowMore(w, l) {
		return false // only a person gives up a member with data that the record does not name
	}
	if slices.ContainsFunc(w.Pods, func(p world.Pod) bool { return p.State == state.PodBlocked && p.Wrong == world.WithoutData }) {
		return false // only a person gives up a volume that may have been mounted empty
	}
	survivors, given := 0, 0
	for _, e := range l.Entries {
		d := w.DataOf(e.Name)
		switch {
		case e.Learner:
		case e.Foreign:
			given++
		case d == nil:
			given++
		case d.Copied:
			return false // only a person decides about a claim in the place of the one that the member served on
		case d.Corrupt || d.Cluster != l.ID || d.Member != e.ID || inPod(w, e.Name):
			return false
		default:
			survivors++
		}
	}
	return survivors > 0 && given > survivors
}

// inPod says whether a member's data is lost with its Pod.
func inPod(w *world.World, name string) bool {
	p := w.Pod(name)
	return p != nil && p.InPod
}

// couldHaveQuorum says whether enough voters still have their data.
func couldHaveQuorum(w *world.World, l *world.Life) bool {
	var v etcd.Voters
	for _, e := range l.Entries {
		if e.Learner {
			continue
		}
		v.Total++
		if d := w.DataOf(e.Name); d != nil && d.Cluster == l.ID && d.Member == e.ID && !d.Corrupt && !d.Copied {
			v.Healthy++
		}
	}
	return v.HasQuorum()
}

// mayKnowMore reports whether no member answers with the membership, and a volume has data of a member that the record does not name.
func mayKnowMore(w *world.World, l *world.Life) bool {
	s := observe.Observe(w)
	return s.Witness == "" && slices.ContainsFunc(w.Volumes, func(v world.Volume) bool {
		return !v.Aside && v.Data != nil && v.Data.Cluster == l.ID && !slices.Contains(s.KnownVoters, v.Name)
	})
}

// forUserOfTLS reports whether a run ended with a wait in which only a user can help: the members serve or have the only data, and do not accept what the Secrets hold.
func forUserOfTLS(w *world.World, wait steps.Wait) bool {
	return onlyInPods(w, wait.Message) || restartsByHand(w, wait) || wait.Stalled && (wouldLoseData(w) || peersRefuse(w))
}

// Rotates reports whether the operator replaces a CA, which takes time although nothing else is to do.
func Rotates(w *world.World) bool {
	t := w.TLS
	return t != nil && w.ManagedTLS() && (t.Asked || t.Before != 0 || t.Held.Peer.Trusted != cas.SetOf(t.Held.Peer.Signer))
}

// restartsByHand reports whether a run ended because members refuse the operator, and a user who replaced a CA at once must restart them.
func restartsByHand(w *world.World, wait steps.Wait) bool {
	byHand := strings.Contains(wait.Message, "other CAs than their Secrets hold")
	return w.TLS != nil && (byHand || w.PlainProbes && strings.Contains(wait.Message, "Delete the Pod to restart the member"))
}

// peersRefuse reports whether a user has replaced the CA of peers at once. Then a member that restarts, and one that is added, do not reach the others, which serve.
func peersRefuse(w *world.World) bool {
	l := w.Formed()
	return w.TLS != nil && !w.ManagedTLS() && l != nil && l.Leader != 0 && slices.ContainsFunc(w.Pods, func(p world.Pod) bool {
		e := l.Entry(p.Name)
		return e != nil && p.TLS != nil && raft.Up(w, l, e) && !w.TLS.Accept(p.TLS.Has.Peer, w.TLS.Held.Peer)
	})
}

// onlyInPods reports whether a message says that a restart for the present CA would delete data, so that a person must put the CA before back.
func onlyInPods(w *world.World, said string) bool {
	return w.TLS != nil && (strings.Contains(said, "Put the previous CA back") || strings.Contains(said, "crictl stop"))
}

// wouldLoseData reports whether a member refuses the operator, and its data would be deleted with its Pod. Only a person decides about that.
func wouldLoseData(w *world.World) bool {
	return w.TLS != nil && slices.ContainsFunc(w.Pods, func(p world.Pod) bool {
		v := w.Volume(p.Name)
		return p.TLS != nil && p.TLS.Process != 0 && !raft.AcceptsOperator(w, &p) && (p.InPod || v == nil || v.Deleting || v.Lost)
	})
}

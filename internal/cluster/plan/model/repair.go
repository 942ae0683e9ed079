package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// Repair puts right what is not the operator's to put right, so that nothing is in its way but what it made.
func (w *World) Repair() {
	w.choose = nil
	w.setClock(0)
	w.BadImage, w.SecretProblem, w.NoStorageClass = "", "", false
	w.Cluster.Spec.Paused, w.Cluster.Spec.Hibernate = false, false
	if running := w.Cluster.Status.CurrentVersion; running != "" {
		w.Cluster.Spec.Version = running
	}
	if change := w.Cluster.Status.VersionChange; change != nil {
		w.Cluster.Spec.Version = newest[change.To] // where it was going, and members may be
	}
	if l := w.formed(); l != nil && l.adopted && l.downgrade == 0 && l.version > minorOf(w.Cluster.Spec.Version) {
		w.Cluster.Spec.Version = newest[fmt.Sprintf("3.%d", l.version)] // the members say so, who went on before anybody saw it
	}
	w.Cluster.Spec.ReadOnly = w.Cluster.Spec.ReadOnly && w.holdsFences() && minorOf(w.Cluster.Spec.Version) >= downgrades
	if w.template == w.badTemplate {
		w.template++
	}
	w.badTemplate, w.Nodes = 0, ResizeCarriedOut
	w.Rejecting, w.AuthOn, w.CutOff, w.NoNode, w.EtcdRefuses, w.Denied = false, false, false, false, false, ""
	for i := range w.incarnations {
		for j := range w.incarnations[i].entries {
			e := &w.incarnations[i].entries[j]
			e.down = e.foreign && !e.ran
		}
	}
	w.repairTLS()
	sayStopped(w, nil)
	w.ConsentToForeign()
	if slices.ContainsFunc(w.volumes, func(v volume) bool { return v.data != nil && v.data.corrupt }) {
		w.annotate(v1beta2.AnnotationFence, "") // a fenced member is not replaced for that
	}
	for i := range w.pods {
		p := &w.pods[i]
		p.unschedulable, p.stuck, p.broken, p.hung = false, false, false, false
	}
	for i := range w.Restores {
		r := &w.Restores[i]
		r.Deleted = r.Deleted || !r.Verified || r.Failed
		if r.Seed == FateRetry {
			r.Seed = FateGood
		}
	}
	w.elect()
}

// CheckLost holds the end of a repaired world against what it says was lost for good.
func (w *World) CheckLost(o Outcome) {
	wait, waits := o.Last.(steps.Wait)
	if !waits || len(w.Violations) > 0 {
		return
	}
	l := w.formed()
	if wait.Stalled && !w.Gentle && l != nil && !w.couldHaveQuorum(l) && !w.couldRecover(l) {
		return
	}
	if l == nil && wait.Stalled {
		return
	}
	if (wait.Stalled && (w.forPerson(wait) || w.forUserOfTLS(wait))) || refused(wait) || (wait.Reason == v1beta2.ReasonVersionNotSupported && w.runsAnotherMinor()) {
		return
	}
	w.violate(EveryRunSettles, "after all faults were removed, the last step is %+v", wait)
}

// forPerson says whether only a person can end a stalled wait: what to delete and whose data is right is for a person to say,
// and etcd may need the votes of members that the operator cannot see.
func (w *World) forPerson(wait steps.Wait) bool {
	switch wait.Reason {
	case v1beta2.ReasonNoSpace, v1beta2.ReasonDataCorrupt, v1beta2.ReasonForeignMember:
		return true
	case v1beta2.ReasonPodFailing:
		return strings.Contains(wait.Message, v1beta2.AnnotationFence)
	case v1beta2.ReasonAnotherVolume:
		return w.statusLost && strings.Contains(wait.Message, "The status is lost")
	case v1beta2.ReasonRecovering:
		return w.losesSurvivor()
	case v1beta2.ReasonQuorumLost:
		l := w.formed()
		return w.namesForeignQuorum(wait.Message) || l != nil && (w.misrecorded(l) || w.statusLost && foreigners(l) > 0)
	}
	return false
}

// namesForeignQuorum says whether a message names all foreign voters, which are the quorum: no voter is left that the
// operator could ask to change the membership, or could start with its data.
func (w *World) namesForeignQuorum(message string) bool {
	l := w.formed()
	if l == nil || l.leader == 0 || w.ownVoters(l).Healthy > 0 {
		return false
	}
	return !slices.ContainsFunc(l.entries, func(e entry) bool {
		d := w.dataOf(e.name)
		could := !e.foreign && d != nil && d.cluster == l.id && d.member == e.id && !d.corrupt
		return !e.learner && (could || (e.foreign && !strings.Contains(message, e.id.String())))
	})
}

// losesSurvivor says whether the one survivor's volume is being deleted, which only a person may give up.
func (w *World) losesSurvivor() bool {
	return slices.ContainsFunc(w.pods, func(p pod) bool {
		v := w.volume(p.name)
		return p.start == state.StartForce && v != nil && (v.deleting || v.lost)
	})
}

// runsAnotherMinor says whether a Pod runs a minor version that the spec does not ask for: a restore may have
// started with what was refused for the cluster before it.
func (w *World) runsAnotherMinor() bool {
	return slices.ContainsFunc(w.pods, func(p pod) bool { return p.version[:4] != w.Cluster.Spec.Version[:4] })
}

// couldRecover says whether the consent is there and a voter to go on from, and nothing is in the way of it: a volume
// that is about to go with its Pod, or corrupt data, which nobody but a person gives up. Data in a Pod is lost if the Pod restarts with
// --force-new-cluster, so the operator continues from no such voter, although the spec asks for volumes by now.
func (w *World) couldRecover(l *life) bool {
	if !w.Cluster.Spec.ForcesNewCluster() || w.losing() || len(w.Observe().KnownVoters) == 0 {
		return false // how many voters there were is lost with the status, and no member answers that knows it
	}
	if w.mayKnowMore(l) {
		return false // only a person gives up a member with data that the record does not name
	}
	if slices.ContainsFunc(w.pods, func(p pod) bool { return p.state == state.PodBlocked && p.wrong == withoutData }) {
		return false // only a person gives up a volume that may have been mounted empty
	}
	survivors, given := 0, 0
	for _, e := range l.entries {
		d := w.dataOf(e.name)
		switch {
		case e.learner:
		case e.foreign:
			given++
		case d == nil:
			given++
		case d.copied:
			return false // only a person decides about a claim in the place of the one that the member served on
		case d.corrupt || d.cluster != l.id || d.member != e.id || w.inPod(e.name):
			return false
		default:
			survivors++
		}
	}
	return survivors > 0 && given > survivors
}

// inPod says whether a member's data is lost with its Pod.
func (w *World) inPod(name string) bool {
	p := w.pod(name)
	return p != nil && p.inPod
}

// couldHaveQuorum says whether enough voters still have their data.
func (w *World) couldHaveQuorum(l *life) bool {
	var v etcd.Voters
	for _, e := range l.entries {
		if e.learner {
			continue
		}
		v.Total++
		if d := w.dataOf(e.name); d != nil && d.cluster == l.id && d.member == e.id && !d.corrupt && !d.copied {
			v.Healthy++
		}
	}
	return v.HasQuorum()
}

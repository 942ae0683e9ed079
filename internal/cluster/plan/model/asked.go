package model

import (
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// zones that nodes are in.
const zones = 3

func (w *World) annotate(key, value string) {
	annotations := map[string]string{}
	for k, v := range w.Cluster.Annotations {
		annotations[k] = v
	}
	annotations[key] = value
	w.Cluster.Annotations = annotations
}

// askAbout annotates the EtcdCluster with the name of a member, or removes the annotation.
func askAbout(w *World, r *rand.Rand) string {
	keys := []string{v1beta2.AnnotationReplace, v1beta2.AnnotationMoveLeader, v1beta2.AnnotationFence}
	key, p := keys[r.IntN(len(keys))], w.anyPod(r)
	if p == nil || r.IntN(3) == 0 {
		w.annotate(key, "")
		return key + " nothing"
	}
	value := p.name
	if other := w.anyPod(r); r.IntN(2) == 0 {
		value += "," + other.name
	}
	w.annotate(key, value)
	return key + " " + value
}

// checkAsked: done means that all that annotations ask for is done, too.
func (w *World) checkAsked(l *life) {
	s := w.Observe()
	for _, e := range l.entries {
		if slices.Contains(s.Asked.Replace, e.name) && !slices.Contains(s.Asked.Fence, e.name) {
			w.violate(EveryRunSettles, "Done is reported, but %s was to be replaced", e.name)
		}
		if l.leader == e.id && slices.Contains(s.Asked.MoveLeader, e.name) {
			w.violate(EveryRunSettles, "Done is reported, but %s still leads", e.name)
		}
	}
}

// refused says whether a run ended because an annotation asks for what could leave no quorum.
func refused(wait steps.Wait) bool {
	return wait.Stalled && wait.Reason == v1beta2.ReasonRequestRefused
}

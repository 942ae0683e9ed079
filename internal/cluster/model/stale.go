package model

// upToDate says whether a member's Pod is what the spec asks for.
func (w *World) upToDate(e *entry) bool {
	p := w.pod(e.name)
	return p != nil && p.version == w.Cluster.Spec.Version && p.template == w.template
}

// checkReplaced: a member that serves, with the right data, goes after another has taken its place.
func (w *World) checkReplaced(l *life, e *entry) {
	if v := w.voters(l); w.up(l, e) && l.accused == 0 && v.Total <= w.Cluster.Spec.Size {
		w.violate(4, "%s serves and is removed before another has taken its place: %d voters, and %d are wanted", e.name, v.Total, w.Cluster.Spec.Size)
	}
}

// checkMove: where members are replaced whose Pods are not what the spec asks for, leadership moves when the leader is
// the last of them, so that it moves once. It moves for other reasons, too: for corrupt data, and to defragment the
// leader, for which nobody was added.
func (w *World) checkMove(l *life) {
	if l == nil || w.durable() || l.accused != 0 || l.noSpace != 0 || w.voters(l).Total <= w.Cluster.Spec.Size {
		return
	}
	for i := range l.entries {
		if e := &l.entries[i]; e.id != l.leader && !e.learner && w.up(l, e) && !w.upToDate(e) {
			w.violate(7, "leadership moves before %s is replaced", e.name)
		}
	}
}

// checkReadable: what a member is sent that joins. A leader that has taken a raft snapshot sends that; else all that
// its log holds.
func (w *World) checkReadable(l *life, p *pod) {
	led := l.byID(l.leader)
	if led == nil || p.stale || w.statusLost || l.motley || minorOf(p.version) < readsNoV2 {
		return
	}
	if from := w.dataOf(led.name); l.lastV2 > 0 && from.snapshot < l.lastV2 {
		w.violate(8, "%s joins with %s and is sent what that cannot read", p.name, p.version)
	}
}

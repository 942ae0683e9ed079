package model

// checkReplaced: a member that serves, with the right data, goes after another has taken its place.
func (w *World) checkReplaced(l *life, e *entry) {
	if v := w.voters(l); w.up(l, e) && !w.hidden(e) && l.accused == 0 && v.Total <= w.Cluster.Spec.Size {
		w.violate(DataIsKept, "%s serves and is removed before its replacement votes: %d voters, and the spec asks for %d", e.name, v.Total, w.Cluster.Spec.Size)
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
		w.violate(DataIsReadable, "%s joins with version %s, which cannot read the log that it is sent", p.name, p.version)
	}
}

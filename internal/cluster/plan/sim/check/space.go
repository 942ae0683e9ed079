package check

import (
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/raft"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/sim/world"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// checkDefragment: a member answers nobody meanwhile, so it is as if it were stopped.
func checkDefragment(w *world.World, l *world.Life, step steps.DefragmentMember) {
	checkQuorum(w, l, "a member is defragmented")
	if l == nil || l.Entry(step.Name) == nil {
		return
	}
	if v := raft.Voters(w, l); v.Healthy < v.Total {
		w.Violate(world.QuorumIsKept, "%s is defragmented while %d of %d voters are healthy", step.Name, v.Healthy, v.Total)
	}
	if slices.ContainsFunc(l.Entries, func(e world.Entry) bool { return e.Learner }) {
		w.Violate(world.OneChangeAtATime, "%s is defragmented while a member is added", step.Name)
	}
	checkLeader(w, l, l.Entry(step.Name))
}

// checkDisarm: the alarm keeps etcd from writing where there is no room.
func checkDisarm(w *world.World, l *world.Life, step steps.DisarmAlarm) {
	if l == nil {
		return
	}
	if step.Alarm.Kind == etcd.AlarmCorrupt {
		checkAcquitted(w, l)
		return
	}
	for i := range l.Entries {
		room := world.Quota
		if p := w.Pod(l.Entries[i].Name); p != nil {
			room = p.Quota
		}
		if d := w.DataOf(l.Entries[i].Name); d != nil && d.File >= room {
			w.Violate(world.AlarmsHaveACause, "the alarm is disarmed, but %s has no room", l.Entries[i].Name)
		}
	}
}

// checkAcquitted: the alarm is not disarmed while data differs that nobody knows about.
func checkAcquitted(w *world.World, l *world.Life) {
	tainted, voters := 0, 0
	for i := range l.Entries {
		e := &l.Entries[i]
		if d := w.DataOf(e.Name); d != nil && !e.Learner && raft.Up(w, l, e) {
			voters++
			if d.Tainted {
				tainted++
			}
		}
	}
	if tainted > 0 && voters > 1 {
		w.Violate(world.AlarmsHaveACause, "the alarm is disarmed while members have different data")
	}
}

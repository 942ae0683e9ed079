package model

import (
	"math/rand/v2"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// taint gives one member, or two, other data than the rest, which etcd notices. It may be wrong about whose that is.
func taint(w *World, r *rand.Rand) string {
	l := w.formed()
	if l == nil || len(l.entries) == 0 || foreigners(l) > 0 {
		return ""
	}
	said := "other data on"
	for range 1 + r.IntN(2) {
		e := &l.entries[r.IntN(len(l.entries))]
		if d := w.dataOf(e.name); d != nil && !e.learner && w.spare(e.name) {
			d.tainted = true
			l.accused = e.id
			said += " " + e.name
		}
	}
	switch {
	case l.accused == 0:
		return ""
	case r.IntN(6) == 0:
		l.accused = l.entries[r.IntN(len(l.entries))].id
	case r.IntN(6) == 0:
		l.nobody = true
	}
	return said
}

// hearCorrupt is what a member says of the alarm, and its hash while that is on.
func (w *World) hearCorrupt(l *life, d *data, m *state.Member) {
	if l.accused == 0 {
		return
	}
	alarm := etcd.Alarm{Kind: etcd.AlarmCorrupt, Member: l.accused}
	if l.nobody {
		alarm.Member = 0
	}
	m.Alarms = append(m.Alarms, alarm)
	m.Hash = "right"
	if d.tainted {
		m.Hash = "wrong on " + m.Name
	}
}

func (w *World) disarmCorrupt(l *life, alarm etcd.Alarm) {
	l.fences = slices.DeleteFunc(l.fences, func(id etcd.ID) bool { return id == alarm.Member }) // to etcd it is an alarm like any other
	if alarm.Member == l.accused || (alarm.Member == 0 && l.nobody) {
		l.accused, l.nobody = 0, false
	}
}

// checkConvicted: who is removed for its data has other data than the rest.
func (w *World) checkConvicted(l *life, e *entry, step steps.RemoveMember) {
	d := w.dataOf(e.name)
	if l.accused == 0 || d == nil || d.tainted || d.corrupt || d.member != e.id || step.Cause != state.CorruptData {
		return
	}
	w.violate(DataIsKept, "%s is removed as corrupt, but its data is correct", e.name)
}

// checkAcquitted: the alarm is not disarmed while data differs that nobody knows about.
func (w *World) checkAcquitted(l *life) {
	tainted, voters := 0, 0
	for i := range l.entries {
		e := &l.entries[i]
		if d := w.dataOf(e.name); d != nil && !e.learner && w.up(l, e) {
			voters++
			if d.tainted {
				tainted++
			}
		}
	}
	if tainted > 0 && voters > 1 {
		w.violate(AlarmsHaveACause, "the alarm is disarmed while members have different data")
	}
}

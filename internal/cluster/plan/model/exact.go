package model

import (
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// An EtcdRestore with safetySnapshot: Exact, and what restore-operator makes of it.

// Saver says how restore-operator fares with the safety snapshot.
type Saver int

// Savers.
const (
	// SaverGood takes it if the members have a leader.
	SaverGood Saver = iota
	// SaverRefused reports that the store refuses it.
	SaverRefused
	// SaverAbsent does not run.
	SaverAbsent
)

// safetyStatus is what the status of an EtcdRestore has of its safety snapshot.
func (r Restore) safetyStatus() *v1beta2.SafetySnapshotStatus {
	if r.SavedFor.IsZero() {
		return nil
	}
	saved := v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotTaken, Path: "bucket/old", Revision: r.SavedUpTo}
	if r.SavedUpTo == 0 {
		saved = v1beta2.SafetySnapshotStatus{Result: v1beta2.SafetySnapshotNotTaken, Message: "the store refuses it"}
	}
	saved.Time.Time = r.SavedFor
	return &saved
}

// asksExactly returns the EtcdRestore whose exact safety snapshot the operator has asked for and does not have, and since when; nil for none.
func (w *World) asksExactly() (*Restore, time.Time) {
	status := w.Cluster.Status.Restore
	if status == nil || status.Step != v1beta2.RestoreSwitching || status.SeedReadyTime == nil {
		return nil, time.Time{}
	}
	for i := range w.Restores {
		if r := &w.Restores[i]; r.UID == status.UID && r.Exact && r.SavedFor.Before(status.SeedReadyTime.Time) {
			return r, status.SeedReadyTime.Time
		}
	}
	return nil, time.Time{}
}

// saveExactly is what restore-operator does in a second.
func (w *World) saveExactly() (moved bool) {
	r, since := w.asksExactly()
	if r == nil {
		return false
	}
	l := w.formed()
	switch {
	case r.Saver == SaverRefused:
		r.SavedUpTo = 0
	case r.Saver == SaverAbsent || l == nil || l.leader == 0 || w.pick(3) == 1:
		return false
	default:
		r.SavedUpTo = l.revision + int64(l.index)
	}
	r.SavedFor = since
	return true
}

// waitsForExact: the operator waits behind a fence for what restore-operator does within its time, which is not compared while
// clocks are set.
func (w *World) waitsForExact() bool {
	r, since := w.asksExactly()
	return r != nil && (w.Clocks || w.at(w.now).Sub(since) <= v1beta2.SafetySnapshotLimit)
}

// checkExact: a seed takes over only when the safety snapshot has all that the members before it acknowledged, unless nothing of their data is left.
func (w *World) checkExact(l *life, step steps.AdoptSeed) {
	if l == nil || l.incarnation == step.Incarnation || !l.adopted || !l.quorate || !w.anyData(l) || w.statusLost {
		return
	}
	for _, r := range w.Restores {
		if r.UID == w.Cluster.Status.Restore.UID && r.Exact && r.SavedUpTo < l.revision+int64(l.index) {
			w.violate(AcknowledgedWritesSurvive, "the seed takes over, and the exact safety snapshot has revision %d of %d", r.SavedUpTo, l.revision+int64(l.index))
		}
	}
}

// anyData: a voter still has its data.
func (w *World) anyData(l *life) bool {
	return slices.ContainsFunc(l.entries, func(e entry) bool {
		d := w.dataOf(e.name)
		return !e.learner && !e.foreign && d != nil && d.cluster == l.id && d.member == e.id && !d.corrupt && !d.copied
	})
}

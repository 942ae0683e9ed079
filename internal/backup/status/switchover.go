package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/plan"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// nextSwitchover returns how far the switchover is. Its ID is in the status before the archiver does anything, so that a process that is killed continues.
func nextSwitchover(s state.State) *v1beta2.SwitchoverStatus {
	asked := state.HandsOver(s)
	now, view := present(s, asked)
	switch {
	case now == nil && (!asked || !begins(s)), view != nil && view.Off && !asked:
		return nil
	case now == nil, view != nil && view.Off:
		return &v1beta2.SwitchoverStatus{ID: string(switchover.NewID(s.Now, string(s.UID), state.JobSpecOf(s).ArchiveName())), Phase: v1beta2.SwitchoverFencing, Message: "The operator stops the writes of the cluster."}
	case view != nil:
		now = viewed(*now, *view)
	}
	if !asked && now.Phase != v1beta2.SwitchoverPromoted {
		if now.Phase != v1beta2.SwitchoverCallingOff {
			now.Message = switchoverMessage(state.Switchover{Phase: v1beta2.SwitchoverCallingOff})
		}
		now.Phase = v1beta2.SwitchoverCallingOff
	}
	if !s.Archived() {
		now.Message = switchoverStopped(s, *now)
	}
	return now
}

// present returns the switchover of the status, and what the archiver says about it; nil for each that is not there.
func present(s state.State, asked bool) (now *v1beta2.SwitchoverStatus, view *state.Switchover) {
	now = s.Status.Switchover.DeepCopy()
	if s.Archive != nil {
		view = s.Archive.Switchover
	}
	if now == nil && !asked && view != nil && view.Promoted != "" && !view.Off { // the status was lost, or the EtcdBackup was created again
		now = &v1beta2.SwitchoverStatus{ID: view.ID}
	}
	if now == nil || view != nil && view.ID != now.ID {
		return now, nil
	}
	return now, view
}

// begins reports whether a switchover can begin. Otherwise the condition Archiving says why, or the finalizer is about to be set.
func begins(s state.State) bool {
	return s.Held && s.Archived() && s.Archive != nil && s.Archive.Begun
}

// viewed returns what the archiver reports. If it cannot read how far the switchover is, the status is kept.
func viewed(now v1beta2.SwitchoverStatus, view state.Switchover) *v1beta2.SwitchoverStatus {
	if view.Phase != "" {
		now = v1beta2.SwitchoverStatus{ID: now.ID, Phase: view.Phase, Timeline: view.Timeline, Revision: view.Revision, Promoted: view.Promoted}
	}
	view.Phase, view.Revision, view.Promoted = now.Phase, now.Revision, now.Promoted
	now.Message = switchoverMessage(view)
	return &now
}

// switchoverStopped says how a switchover continues that has no archiver.
func switchoverStopped(s state.State, now v1beta2.SwitchoverStatus) string {
	if now.Phase == v1beta2.SwitchoverPromoted {
		return fmt.Sprintf("EtcdRestore %s was promoted with revision %d. The archive does not run, so the operator does not check that this cluster refuses writes. Do not disarm its alarm CORRUPT.", now.Promoted, now.Revision)
	}
	what := "See the condition Archiving."
	if s.Spec.Continuous == nil {
		what = "Write continuous back into the spec, with switchover: false."
	}
	return "The switchover waits until the archive continues. Until then, the cluster takes no writes if they were stopped. " + what
}

func switchoverMessage(v state.Switchover) string {
	switch {
	case v.Waits != "" && v.Phase == v1beta2.SwitchoverPromoted:
		return state.Clip(planning.Sentence(fmt.Sprintf("EtcdRestore %s was promoted with revision %d. The operator cannot check that this cluster refuses writes: ", v.Promoted, v.Revision), v.Waits))
	case v.Waits != "" && v.Phase == v1beta2.SwitchoverCallingOff:
		return state.Clip(planning.Sentence("The operator calls the switchover off: ", v.Waits))
	case v.Waits != "":
		return state.Clip(planning.Sentence("The switchover waits, and the operator tries again: ", v.Waits))
	case v.Phase == v1beta2.SwitchoverPromoted:
		return fmt.Sprintf("EtcdRestore %s was promoted with revision %d. This cluster must not take writes any more, so the operator refuses them. "+
			"To use this cluster again, delete that one and this EtcdBackup, run etcdctl alarm disarm, and give the next EtcdBackup another path.", v.Promoted, v.Revision)
	case v.Phase == v1beta2.SwitchoverReady:
		return fmt.Sprintf("The cluster refuses writes after revision %d, and the archive has all of them. Set follow.promote of the EtcdRestore of the standby to Planned.", v.Revision)
	case v.Phase == v1beta2.SwitchoverCallingOff:
		return "The operator lets the cluster take writes again."
	case v.Revision > 0:
		return fmt.Sprintf("The cluster refuses writes after revision %d. The operator waits until the archive has all of them.", v.Revision)
	}
	return "The operator stops the writes of the cluster."
}

// SwitchoverEvents reports each phase of a switchover when the status has it first.
func SwitchoverEvents(before, after v1beta2.EtcdBackupStatus) []planning.Event {
	was, is := before.Switchover, after.Switchover
	switch {
	case was == nil && is == nil, was != nil && is != nil && was.Phase == is.Phase:
		return nil
	case is == nil && was.Phase == v1beta2.SwitchoverPromoted:
		return nil
	case is == nil:
		return []planning.Event{plan.NewEvent(corev1.EventTypeNormal, "SwitchoverCalledOff", plan.ActionArchive, "The switchover was called off, and the cluster takes writes again.")}
	case is.Phase == v1beta2.SwitchoverReady:
		return []planning.Event{plan.NewEvent(corev1.EventTypeNormal, "SwitchoverReady", plan.ActionArchive, is.Message)}
	case is.Phase == v1beta2.SwitchoverPromoted:
		return []planning.Event{plan.NewEvent(corev1.EventTypeNormal, "SwitchoverPromoted", plan.ActionArchive, is.Message)}
	case is.Phase == v1beta2.SwitchoverFencing:
		return []planning.Event{plan.NewEvent(corev1.EventTypeNormal, "SwitchoverStarted", plan.ActionArchive, is.Message)}
	}
	return nil
}

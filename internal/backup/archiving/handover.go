package archiving

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/archiving/limits"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

const (
	// handoverInterval is between two looks at the spec and at the decision, and fencingInterval between two steps while clients wait.
	handoverInterval, fencingInterval = time.Second, 200 * time.Millisecond
	// handoverLongest is the longest pause after failures.
	handoverLongest = 30 * time.Second
	// steppingLongest is the longest pause after a step that failed. A person waits for the next one, for example until there is a snapshot with the present users.
	steppingLongest = 5 * time.Second
	// promotedInterval is how often the fence of a cluster is looked at after the promotion of a standby.
	promotedInterval = 10 * time.Second
	// A cluster without a switchover is swept when the archiver starts, after sweepSoon looks at the spec, which are a minute, and after each sweepLooks, which are half an hour.
	// What an earlier process has requested arrives within that minute.
	sweepSoon, sweepLooks = 120, 3600
)

func (h *handover) run(ctx context.Context) {
	wait, looks := handoverInterval/2, 0
	for limits.Pause(ctx, wait) {
		spec := h.current()
		if spec.switchover == "" {
			wait = handoverInterval / 2
			if h.fenced(0); sweepIsDue(looks) && h.sweep(ctx, spec) != nil {
				wait = handoverLongest
				continue
			}
			looks++
			continue
		}
		looks = 0
		if v := h.look().Switchover; v != nil && v.ID == string(spec.switchover) && v.Off {
			continue // until the status says so
		}
		v, err := h.step(ctx, spec)
		switch {
		case err != nil && ctx.Err() == nil:
			wait = min(max(2*wait, handoverInterval), steppingLongest)
			v.Waits = state.Clip(err.Error())
		case v.Promoted != "":
			wait = promotedInterval
		case v.Phase == v1beta2.SwitchoverFencing:
			wait = fencingInterval
		default:
			wait = handoverInterval
		}
		h.say(v)
	}
}

func sweepIsDue(looks int) bool { return looks == sweepSoon || looks%sweepLooks == 0 }

// step makes the next step. Its result is also valid with an error: an empty phase is that of the status.
func (h *handover) step(ctx context.Context, spec Spec) (v state.Switchover, err error) {
	ctx, cancel := context.WithTimeout(ctx, handoverLimit)
	defer cancel()
	h.settled = false
	v = state.Switchover{ID: string(spec.switchover)}
	if spec.promoted == nil && !spec.switchover.In(spec.job.ArchiveName()) { // a promotion is final, also if the URL of the store is written in another way now
		return v, errors.New("it began in another archive, in which a standby may claim its end: write the earlier location back into the spec until the switchover was called off")
	}
	decision, decided, err := h.decision(ctx, spec)
	if err != nil {
		return v, err
	}
	v.Phase = v1beta2.SwitchoverFencing
	if h.end != nil {
		v.Timeline, v.Revision, v.Phase = int64(h.end.Timeline), h.end.Revision, v1beta2.SwitchoverReady
	}
	switch {
	case decided && decision.Off():
		return h.callOff(ctx, spec, v)
	case decided:
		return h.keep(ctx, spec, v, h.end, decision)
	}
	return h.finish(ctx, spec, v)
}

// decision returns the decision about a switchover. It calls the switchover off if the spec does not ask for it any more, or if its end is not that of the
// cluster: then the archiver begins another one.
func (h *handover) decision(ctx context.Context, spec Spec) (d switchover.Decision, decided bool, err error) {
	root := spec.job.ArchiveRoot()
	if h.end != nil && h.end.ID != spec.switchover {
		h.end = nil
	}
	if h.end == nil {
		end, ended, err := switchover.ReadEnd(ctx, h.store, root, spec.switchover)
		if err != nil {
			return d, false, err
		}
		if ended {
			h.end = &end
		}
	}
	if d, decided, err = switchover.ReadDecision(ctx, h.store, root, spec.switchover); err != nil || decided {
		return d, decided, err
	}
	if spec.promoted != nil {
		return *spec.promoted, true, nil
	}
	if spec.handsOver && (h.end == nil || !passed(*h.end, h.running.Status())) {
		return d, false, nil
	}
	d, err = h.decideOff(ctx, spec)
	return d, err == nil, err
}

// passed reports whether the cluster is beyond an end: somebody has disarmed the alarm CORRUPT, or the cluster was restored or recovered.
func passed(end switchover.End, s archiver.Status) bool {
	return s.Timeline > end.Timeline || s.Timeline == end.Timeline && max(s.Received.Revision, s.Stored.Revision, s.Head) > end.Revision
}

// keep keeps the fence after the promotion of a standby: a person may have disarmed it, or a recovery may have lost it. If this is another cluster, which has the
// name of the one that was handed over, the switchover has ended.
func (h *handover) keep(ctx context.Context, spec Spec, v state.Switchover, e *switchover.End, d switchover.Decision) (state.Switchover, error) {
	v.Phase, v.Promoted, v.Revision = v1beta2.SwitchoverPromoted, d.Promoted, d.Revision
	return v, h.member(ctx, spec.job, func(c locked, s etcd.Status) error {
		switch {
		case e == nil: // the store has lost the end, so this may be another cluster
			return nil
		case e != nil && e.ClusterID != s.ClusterID.String():
			v.Off = !spec.handsOver
			return nil
		case slices.ContainsFunc(s.Alarms(), func(a etcd.Alarm) bool { return a.IsSwitchoverOf(s.ClusterID, spec.job.ArchiveName()) }):
			return nil
		}
		_, err := h.stop(ctx, c, s, spec)
		return err
	})
}

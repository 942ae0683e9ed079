package archiving

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/backup/clients"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// handover makes the switchover of a running archiver, see the package switchover:
//
//	asked for     fence ── all is stored ── end ── (a standby decides)
//	called off    decide ── take the fence back
//
// It keeps nothing: each step asks the store and etcd, so that a process that was killed continues.
type handover struct {
	*Archiver
	job     *runner
	store   objstore.Store
	running *archiver.Archiver

	end *switchover.End // that is in the store
}

const (
	// handoverInterval is between two looks at the spec and at the decision, and fencingInterval between two steps while clients wait.
	handoverInterval, fencingInterval = time.Second, 200 * time.Millisecond
	// handoverLongest is the longest pause after failures.
	handoverLongest = 30 * time.Second
	// handoverLimit bounds one step.
	handoverLimit = 15 * time.Second
)

func (h *handover) run(ctx context.Context) {
	wait := handoverInterval / 2
	for pause(ctx, wait) {
		spec := h.current()
		if spec.switchover == "" {
			h.fenced(0)
			wait = handoverInterval / 2
			continue
		}
		if v := h.look().Switchover; v != nil && v.ID == string(spec.switchover) && (v.Off || v.Promoted != "") {
			continue // until the status says so
		}
		v, err := h.step(ctx, spec)
		failed := wait
		if wait = handoverInterval; v.Phase == v1beta2.SwitchoverFencing {
			wait = fencingInterval
		}
		if err != nil && ctx.Err() == nil {
			wait = min(max(2*failed, handoverInterval), handoverLongest)
			v.Waits = state.Clip(err.Error())
		}
		h.say(v)
	}
}

// say updates the view, and notifies the controller of a change.
func (h *handover) say(v state.Switchover) {
	changed := false
	h.update(func(a *state.Archive) {
		changed = a.Switchover == nil || *a.Switchover != v
		a.Switchover = &v
	})
	if changed {
		h.notify()
	}
}

// fenced lets the archiver store the last revision at once.
func (h *handover) fenced(at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fencedAt = at
}

// step makes the next step. Its result is also valid with an error.
func (h *handover) step(ctx context.Context, spec Spec) (v state.Switchover, err error) {
	ctx, cancel := context.WithTimeout(ctx, handoverLimit)
	defer cancel()
	v = state.Switchover{ID: string(spec.switchover), Phase: v1beta2.SwitchoverFencing}
	decision, decided, err := h.decision(ctx, spec)
	if h.end != nil {
		v.Timeline, v.Revision, v.Phase = int64(h.end.Timeline), h.end.Revision, v1beta2.SwitchoverReady
	}
	if !spec.handsOver {
		v.Phase = v1beta2.SwitchoverCallingOff
	}
	switch {
	case err != nil:
		return v, err
	case decided && decision.Off():
		v.Phase = v1beta2.SwitchoverCallingOff
		err = h.unfence(ctx, spec.job)
		v.Off = err == nil
		return v, err
	case decided:
		v.Phase, v.Promoted, v.Revision = v1beta2.SwitchoverPromoted, decision.Promoted, decision.Revision
		return v, nil
	case h.end != nil:
		return v, nil
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
	if spec.handsOver && (h.end == nil || !passed(*h.end, h.running.Status())) {
		return d, false, nil
	}
	d, err = switchover.Decide(ctx, h.store, root, switchover.Decision{ID: spec.switchover, At: h.job.Now().UTC()})
	return d, err == nil, err
}

// passed reports whether the cluster is beyond an end: somebody has disarmed the alarm CORRUPT, or the cluster was restored or recovered.
func passed(end switchover.End, s archiver.Status) bool {
	return s.Timeline > end.Timeline || s.Timeline == end.Timeline && max(s.Received.Revision, s.Stored.Revision, s.Head) > end.Revision
}

// finish fences the cluster, and ends the archive when the store has all that the cluster has acknowledged.
func (h *handover) finish(ctx context.Context, spec Spec, v state.Switchover) (state.Switchover, error) {
	revision, err := h.fenceWrites(ctx, spec.job)
	if err != nil {
		return v, err
	}
	h.fenced(revision)
	s := h.running.Status()
	v.Timeline, v.Revision = int64(s.Timeline), revision
	switch {
	case s.Stored.Revision > revision: // another fence was on before, and a member answers late
		return v, fmt.Errorf("the archive has revision %d, and etcd answers that its last one is %d", s.Stored.Revision, revision)
	case s.Stored.Revision < revision || s.Blocked || s.Timeline == 0:
		return v, nil
	}
	end := switchover.End{ID: spec.switchover, Timeline: s.Timeline, Revision: revision, At: s.Stored.At, Writer: spec.job.Namespace + "/" + spec.job.Name}
	if err := switchover.PutEnd(ctx, h.store, spec.job.ArchiveRoot(), end); err != nil {
		return v, err
	}
	h.end, v.Phase = &end, v1beta2.SwitchoverReady
	return v, nil
}

// fenceWrites stops all writes, and returns the last revision. A fence that is on already is kept.
func (h *handover) fenceWrites(ctx context.Context, o state.JobSpec) (revision int64, err error) {
	return revision, h.withMember(ctx, o, func(c etcd.Maintenance, s etcd.Status) error {
		if err := fenceable(o, s); err != nil {
			return err
		}
		revision, err = c.Fence(ctx, etcd.SwitchoverID(s.ClusterID, o.UID))
		return err
	})
}

func (h *handover) unfence(ctx context.Context, o state.JobSpec) error {
	err := h.withMember(ctx, o, func(c etcd.Maintenance, s etcd.Status) error {
		return c.Unfence(ctx, etcd.SwitchoverID(s.ClusterID, o.UID))
	})
	if err == nil {
		h.fenced(0)
	}
	return err
}

// fenceable returns why a fence would not hold. Before etcd 3.6, a full database takes deletions behind it, and members of an EtcdCluster fail their
// liveness probes.
func fenceable(o state.JobSpec, s etcd.Status) error {
	if !etcdversion.Older(s.Version, "3.6.0") {
		return nil
	}
	if o.Cluster != "" && o.MayLackUser {
		return fmt.Errorf("a member runs etcd %s, and a refusal of writes holds from etcd 3.6.0 on: upgrade the cluster", s.Version)
	}
	if slices.ContainsFunc(s.Alarms(), func(a etcd.Alarm) bool { return a.Kind == etcd.AlarmNoSpace }) {
		return fmt.Errorf("the alarm NOSPACE is on, and etcd %s takes deletions then, although writes are refused: make room, and disarm the alarm", s.Version)
	}
	return nil
}

// withMember calls do with a healthy voter.
func (h *handover) withMember(ctx context.Context, o state.JobSpec, do func(etcd.Maintenance, etcd.Status) error) error {
	by, err := h.job.Access(ctx, o)
	if err != nil {
		return err
	}
	member, err := clients.Choose(h.job.Probe(ctx, o.URLs, by), o.ClusterID, false)
	if err != nil {
		return clients.ExplainAccess(by, err)
	}
	client, err := by.Open(member.URL)
	if err != nil {
		return err
	}
	defer client.Close()
	return do(client.Maintenance, member.Status)
}

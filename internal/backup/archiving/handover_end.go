package archiving

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// stopped is a cluster whose writes are stopped.
type stopped struct {
	clusterID string
	// revision is its last one, and 0 if the end is outdated.
	revision int64
	users    auth.State // after its writes were stopped
	// outdated is why the end is not that of the cluster any more; empty if it is, or if there is none.
	outdated string
}

// finish fences the cluster, and ends the archive when the store has all that the cluster has acknowledged. After the end, it keeps the fence until a standby has decided.
func (h *handover) finish(ctx context.Context, spec Spec, v state.Switchover) (state.Switchover, error) {
	at, err := h.stopAll(ctx, spec)
	if h.end != nil && refusesUser(err, spec.job) {
		at, err = stopped{outdated: "etcd refuses the user of this EtcdBackup, so users or passwords have changed since the writes were stopped"}, nil
	}
	if err != nil {
		return v, err
	}
	if at.revision > 0 {
		h.fenced(at.revision)
	}
	switch {
	case h.end == nil:
		return h.endWith(ctx, spec, at, v)
	case at.outdated == "" && h.end.Revision == at.revision:
		return v, nil
	}
	v.Phase, v.Waits = v1beta2.SwitchoverCallingOff, cmp.Or(at.outdated, "somebody has disarmed the alarm CORRUPT, so the cluster took writes")
	_, err = h.decideOff(ctx, spec)
	return v, err
}

// stopAll stops all writes, unless the end is outdated.
func (h *handover) stopAll(ctx context.Context, spec Spec) (at stopped, err error) {
	err = h.member(ctx, spec.job, func(c locked, s etcd.Status) (err error) {
		at = stopped{clusterID: s.ClusterID.String()}
		if at.outdated, err = h.outdated(ctx, s); at.outdated != "" || err != nil {
			return err
		}
		if err := h.begin(ctx, spec, c, s); err != nil {
			return err
		}
		if at.revision, err = h.stop(ctx, c, s, spec); err == nil {
			at.users, err = h.users(ctx, uint64(s.ClusterID))
		}
		return err
	})
	return at, err
}

// endWith stores the end of the archive, when the archive has all of a cluster whose writes are stopped.
func (h *handover) endWith(ctx context.Context, spec Spec, at stopped, v state.Switchover) (state.Switchover, error) {
	s, root := h.running.Status(), spec.job.ArchiveRoot()
	v.Timeline, v.Revision = int64(s.Timeline), at.revision
	switch {
	case s.Stored.Revision > at.revision: // another fence was on before, and a member answers late
		return v, fmt.Errorf("the archive has revision %d, and etcd answers that its last one is %d", s.Stored.Revision, at.revision)
	case s.Stored.Revision < at.revision || s.Blocked || s.Timeline == 0:
		return v, nil
	case !hasUsers(s, at.users):
		v.Waits = errUsers.Error()
		return v, nil
	}
	start, err := archive.ReadStart(ctx, h.store, root, s.Timeline)
	if err != nil || start.ClusterID != at.clusterID { // the archiver is about to begin another timeline
		return v, err
	}
	handedEnd, decision, handed, err := switchover.Settle(ctx, h.store, root, spec.switchover, at.clusterID, h.now().UTC())
	if handed { // this one has no end, and never gets one
		_, err = h.decideOff(ctx, spec)
	}
	if err != nil || handed {
		return reportHanded(v, handedEnd, decision, handed), err
	}
	end := switchover.End{
		ID: spec.switchover, Timeline: s.Timeline, Start: start.Hash(), Revision: at.revision, At: s.Stored.At, ClusterID: at.clusterID, AuthRevision: at.users.Revision, AuthEnabled: at.users.Enabled,
		Writer: spec.job.Namespace + "/" + spec.job.Name,
	}
	if err := switchover.PutEnd(ctx, h.store, root, end); err != nil {
		return v, err
	}
	h.end, v.Phase = &end, v1beta2.SwitchoverReady
	return v, nil
}

// begin records that the switchover begins, before its first effect on the cluster, unless the writes of the cluster must not be stopped.
func (h *handover) begin(ctx context.Context, spec Spec, c locked, s etcd.Status) error {
	if h.end != nil || h.begun == spec.switchover {
		return nil
	}
	_, users, err := h.permitted(ctx, spec, c, s)
	if err == nil {
		err = fenceable(spec.job, s, users)
	}
	if err == nil && !hasUsers(h.running.Status(), users) {
		err = errUsers // without this, the cluster would take no writes until there is a snapshot with them
	}
	if err == nil {
		err = switchover.Begin(ctx, h.store, spec.job.ArchiveRoot(), spec.switchover)
	}
	if err == nil {
		h.begun = spec.switchover
	}
	return err
}

// errUsers means that the archive has no snapshot with the present users yet.
var errUsers = errors.New("users, roles or authentication have changed, and a standby gets them only from a snapshot: the operator waits until it has taken one")

// outdated returns why the end is not that of the cluster any more; empty if it is, or if there is none. A standby that claims it would lack what has changed since.
func (h *handover) outdated(ctx context.Context, s etcd.Status) (why string, err error) {
	if h.end == nil {
		return "", nil
	}
	if h.end.ClusterID != s.ClusterID.String() {
		return "another cluster has the name of the one that was stopped", nil
	}
	users, err := h.users(ctx, uint64(s.ClusterID))
	if err == nil && !h.end.Auth().Keeps(users) {
		why = "users, roles or authentication have changed since the writes were stopped"
	}
	return why, err
}

// refusesUser reports whether etcd refuses the user of an EtcdBackup, by any request: its password or its roles have changed, or authentication was turned on.
func refusesUser(err error, o state.JobSpec) bool {
	return err != nil && classify(err, o).Reason == v1beta2.ReasonEtcdAccessDenied
}

// hasUsers reports whether the archive has a base with a state of authentication.
func hasUsers(s archiver.Status, users auth.State) bool { return !s.BaseOwed && s.Auth.Keeps(users) }

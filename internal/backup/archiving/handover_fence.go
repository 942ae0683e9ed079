package archiving

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/etcdversion"
)

// permitted returns the fences of a member, and the state of authentication of its cluster. The error says why the EtcdBackup must not change the fences.
func (h *handover) permitted(ctx context.Context, spec Spec, c locked, s etcd.Status) (fences, auth.State, error) {
	users, err := h.users(ctx, uint64(s.ClusterID))
	if err == nil {
		err = h.permits(ctx, spec.job, c, s.ClusterID.String())
	}
	if err != nil {
		return nil, users, err
	}
	return c.fences, users, nil
}

// stop stops all writes of a cluster, if that is permitted and possible, and returns its last revision.
func (h *handover) stop(ctx context.Context, c locked, s etcd.Status, spec Spec) (revision int64, err error) {
	open, users, err := h.permitted(ctx, spec, c, s)
	if err == nil {
		err = fenceable(spec.job, s, users)
	}
	if err != nil {
		return 0, err
	}
	if revision, err = fenceWrites(ctx, open, s, spec); err != nil {
		return 0, err
	}
	if err = h.permits(ctx, spec.job, c, s.ClusterID.String()); err != nil { // the connection was lost, and the next one leads to a server that was not asked before
		return 0, errors.Join(err, open.Unfence(ctx, fenceOf(spec, s.ClusterID)))
	}
	return revision, nil
}

// fenceWrites stops all writes, and returns the last revision. A fence that is on already is kept. If another EtcdBackup has fenced the cluster, too, a standby
// of each could be promoted, because their decisions are in two archives. One of the two sees the fence of the other.
func fenceWrites(ctx context.Context, c fences, s etcd.Status, spec Spec) (revision int64, err error) {
	if revision, err = c.Fence(ctx, fenceOf(spec, s.ClusterID)); err != nil {
		return 0, err
	}
	after, err := c.Status(ctx)
	if err != nil {
		return 0, err
	}
	if after.ClusterID != s.ClusterID { // the connection was lost, and the next one leads to another server
		return 0, errors.Join(fmt.Errorf("the endpoint leads to a member of cluster %s now, and not of %s", after.ClusterID, s.ClusterID), c.Unfence(ctx, fenceOf(spec, s.ClusterID)))
	}
	if slices.ContainsFunc(after.Alarms(), func(a etcd.Alarm) bool {
		return a.IsSwitchover(s.ClusterID) && !a.IsSwitchoverOf(s.ClusterID, spec.job.ArchiveName())
	}) {
		return 0, fmt.Errorf("another EtcdBackup hands the clients of this cluster over, too, or has done so: call one of the switchovers off. %s", etcd.DisarmAdvice)
	}
	return revision, nil
}

func fenceOf(spec Spec, cluster etcd.ID) etcd.ID {
	return etcd.SwitchoverID(cluster, spec.job.ArchiveName(), string(spec.switchover))
}

// callOff takes the fences back after the switchover was called off.
func (h *handover) callOff(ctx context.Context, spec Spec, v state.Switchover) (state.Switchover, error) {
	v.Phase = v1beta2.SwitchoverCallingOff
	err := h.member(ctx, spec.job, func(c locked, s etcd.Status) error {
		e, d, handed, err := switchover.Settle(ctx, h.store, spec.job.ArchiveRoot(), spec.switchover, s.ClusterID.String(), h.now().UTC())
		if err != nil {
			return err
		}
		if v = reportHanded(v, e, d, handed); handed {
			_, err = h.stop(ctx, c, s, spec)
			return err
		}
		open, _, err := h.permitted(ctx, spec, c, s)
		if err != nil {
			return err
		}
		return unfence(ctx, open, s, spec, fenceOf(spec, s.ClusterID))
	})
	if err == nil && v.Promoted == "" {
		h.fenced(0)
		v.Off = true
	}
	return v, err
}

// unfence takes back each fence of this archive, also that of a request of an earlier process that arrived late.
func unfence(ctx context.Context, c fences, s etcd.Status, spec Spec, also ...etcd.ID) error {
	for _, a := range s.Alarms() {
		if a.IsSwitchoverOf(s.ClusterID, spec.job.ArchiveName()) && !slices.Contains(also, a.Member) {
			also = append(also, a.Member)
		}
	}
	for _, id := range also {
		if err := c.Unfence(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// sweep ends what a switchover has left behind that the status does not have any more: the status was lost, or a request of an earlier process arrived late.
func (h *handover) sweep(ctx context.Context, spec Spec) error {
	ctx, cancel := context.WithTimeout(ctx, handoverLimit)
	defer cancel()
	return h.member(ctx, spec.job, func(c locked, s etcd.Status) error {
		fenced := slices.ContainsFunc(s.Alarms(), func(a etcd.Alarm) bool { return a.IsSwitchoverOf(s.ClusterID, spec.job.ArchiveName()) })
		if h.settled && !fenced {
			return nil
		}
		e, d, handed, err := switchover.Settle(ctx, h.store, spec.job.ArchiveRoot(), "", s.ClusterID.String(), h.now().UTC())
		if err != nil {
			return err
		}
		if h.settled = !handed; handed {
			h.say(reportHanded(state.Switchover{ID: string(d.ID)}, e, d, handed))
		}
		if handed == fenced { // otherwise a person or a recovery has opened a source that was handed over, or a fence was left behind
			return nil
		}
		open, _, err := h.permitted(ctx, spec, c, s)
		if err != nil {
			return err
		}
		if handed {
			_, err = open.Fence(ctx, fenceOf(spec, s.ClusterID))
			return err
		}
		return unfence(ctx, open, s, spec)
	})
}

// fenceable returns why a fence would not hold. Before etcd 3.6, a full database takes deletions behind it, a client without a user can add users, and members of
// an EtcdCluster fail their liveness probes.
func fenceable(o state.JobSpec, s etcd.Status, users auth.State) error {
	if !etcdversion.Older(s.Version, "3.6.0") {
		return nil
	}
	if o.AuthSecret != "" || users.Enabled == auth.On {
		return fmt.Errorf("a member runs etcd %s with authentication. While it refuses writes, a client without a user could add users there. Upgrade it to 3.6, or restore a snapshot instead", s.Version)
	}
	if o.Cluster != "" && o.MayLackUser {
		return fmt.Errorf("a member runs etcd %s, and a refusal of writes holds from etcd 3.6.0 on: upgrade the cluster", s.Version)
	}
	if slices.ContainsFunc(s.Alarms(), func(a etcd.Alarm) bool { return a.Kind == etcd.AlarmNoSpace }) {
		return fmt.Errorf("the alarm NOSPACE is on, and etcd %s takes deletions then, although writes are refused: make room, and disarm the alarm", s.Version)
	}
	return nil
}

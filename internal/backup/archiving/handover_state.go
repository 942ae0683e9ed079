package archiving

import (
	"context"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/archiver"
	"github.com/etcd-suite/etcd-operator/internal/archive/switchover"
	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// handover makes the switchover of a running archiver, see the package switchover:
//
//	asked for     begin ── fence ── all is stored ── settle the others ── end ── (a standby decides)
//	called off    decide ── settle the others ── take the fences back
//	promoted      keep the fence
//
// It keeps nothing: each step asks the store and etcd, so that a process that was killed continues. An earlier process may still run, and its requests may
// arrive late, in the store and in etcd.
type handover struct {
	*Archiver
	store   objstore.Store
	running interface{ Status() archiver.Status }
	// users returns the state of authentication of the cluster with that ID.
	users func(ctx context.Context, clusterID uint64) (auth.State, error)
	// member calls do with a healthy voter of the cluster and its status.
	member func(ctx context.Context, o state.JobSpec, do func(locked, etcd.Status) error) error
	// permits returns why the EtcdBackup must not stop the writes of a cluster with that ID, of which it may ask a member.
	permits func(ctx context.Context, o state.JobSpec, c locked, clusterID string) error
	now     func() time.Time

	end     *switchover.End // that is in the store
	begun   switchover.ID   // of the beginning that is in the store
	settled bool            // all switchovers are decided, if none is asked for
}

// handoverLimit bounds one step of it.
const handoverLimit = 15 * time.Second

// say updates the view, and notifies the controller of a change.
func (a *Archiver) say(v state.Switchover) {
	changed := false
	a.update(func(view *state.Archive) {
		changed = view.Switchover == nil || *view.Switchover != v
		view.Switchover = &v
	})
	if changed {
		a.notify()
	}
}

// fenced lets the archiver store the last revision at once.
func (h *handover) fenced(at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fencedAt = at
}

// decideOff calls the switchover off, unless a standby has claimed its end.
func (h *handover) decideOff(ctx context.Context, spec Spec) (switchover.Decision, error) {
	return switchover.Decide(ctx, h.store, spec.job.ArchiveRoot(), switchover.Decision{ID: spec.switchover, At: h.now().UTC()})
}

// reportHanded reports the standby that became the cluster by another switchover than that of the status.
func reportHanded(v state.Switchover, e switchover.End, d switchover.Decision, handed bool) state.Switchover {
	if handed {
		v.Phase, v.Promoted, v.Timeline, v.Revision = v1beta2.SwitchoverPromoted, d.Promoted, int64(e.Timeline), e.Revision
	}
	return v
}

// fences are the requests of a handover to a member.
type fences interface {
	Fence(ctx context.Context, id etcd.ID) (revision int64, err error)
	Unfence(ctx context.Context, id etcd.ID) error
	Status(ctx context.Context) (etcd.Status, error)
	// MembersKnown returns the membership that the member has applied.
	MembersKnown(ctx context.Context) ([]etcd.Member, error)
}

// locked are the fences of a member until it is known that the EtcdBackup may change them. Only permitted opens them.
type locked struct{ fences fences }

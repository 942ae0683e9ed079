package confirm

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/restore"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/volumes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// confirmStepOfRestore reads past the cache what the steps of a restore depend on.
func (c *Confirmer) confirmStepOfRestore(ctx context.Context, v *view.View, step steps.Step) error {
	switch step := step.(type) {
	case steps.StopMembers:
		if v.Restoring() && !state.Cancelled(v.State) {
			return c.confirmExists(ctx, v, v.Restore.Name, v.Restore.UID)
		}
	case steps.PromoteStandby:
		return c.confirmExists(ctx, v, v.Restore.Name, v.Restore.UID)
	case steps.AwaitSafetySnapshot:
		return c.Rehearsals.ConfirmStoppable(ctx, v)
	case steps.ReturnToSeeding:
		if err := c.ConfirmCancelled(ctx, v); err != nil {
			return err
		}
		return c.ConfirmOld(ctx, v, step)
	case steps.FailRestore:
		return c.ConfirmCancelled(ctx, v)
	case steps.FenceWrites:
		if v.Restore != nil && step.ID == state.RestoreFence(v.State) && !state.Cancelled(v.State) {
			return c.confirmExists(ctx, v, v.Restore.Name, v.Restore.UID)
		}
	case steps.AdoptSeed:
		if restore.WritesFenced(v.State) && !state.Cancelled(v.State) { // no old member has stopped, so they can still continue
			if err := c.confirmExists(ctx, v, v.Restore.Name, v.Restore.UID); err != nil {
				return err
			}
		}
		if err := c.confirmFence(ctx, v); err != nil {
			return err
		}
		return c.ConfirmOld(ctx, v, step)
	case steps.BeginSwitch:
		return c.ConfirmOld(ctx, v, step)
	}
	return nil
}

// confirmFence fences the old members once more, if a quorum of them is fenced and answers: to fence twice changes nothing, and a person may have
// disarmed the alarm.
func (c *Confirmer) confirmFence(ctx context.Context, v *view.View) error {
	if !restore.WritesFenced(v.State) || !v.MembershipKnown {
		return nil
	}
	err := c.Connections.Fence(ctx, v, steps.FenceWrites{ID: state.RestoreFence(v.State)})
	if err == nil && restore.WroteSince(v.State) {
		return fmt.Errorf("the old members took writes after the exact safety snapshot: %w", view.ErrBehind)
	}
	return err
}

// confirmRestore reads past the cache whether the EtcdRestore still exists. If a user deletes it before the switch, the
// restore is undone, and the cache may not show that yet.
func (c *Confirmer) confirmRestore(ctx context.Context, v *view.View) error {
	return c.confirmExists(ctx, v, v.Request.Name, v.Request.UID)
}

func (c *Confirmer) confirmExists(ctx context.Context, v *view.View, name string, uid types.UID) error {
	live, err := c.liveRestore(ctx, v, name, uid)
	if err == nil && live == nil {
		return fmt.Errorf("EtcdRestore %s is deleted, or another one has its name: %w", name, view.ErrBehind)
	}
	return err
}

// ConfirmCancelled fails if the plan takes the EtcdRestore under way for deleted or ended, and it is not. The cache of a new leader may
// lack it. One that has lost its status ends a restore in Seeding, if the cache shows that, too.
func (c *Confirmer) ConfirmCancelled(ctx context.Context, v *view.View) error {
	if v.Restore == nil || v.Requested() {
		return nil
	}
	live, err := c.liveRestore(ctx, v, v.Restore.Name, v.Restore.UID)
	if err != nil || live == nil || live.Ended() {
		return err
	}
	if live.Verified() || !v.RestoreUnverified {
		return fmt.Errorf("EtcdRestore %s is neither deleted nor ended: %w", v.Restore.Name, view.ErrBehind)
	}
	return nil
}

// confirmNotRestored fails if an EtcdRestore names a volume that was set aside and is to be deleted. The cache may not show it yet, and the volume may be the
// last copy of what a person wants back.
func confirmNotRestored(ctx context.Context, l *kubecache.Lists, v *view.View, name string) error {
	if _, aside := volumes.KeptUntil(v.State, name); !aside {
		return nil
	}
	named := false
	err := kubecache.EachPage(ctx, l.APIReader, l.Gate, v.Namespace, &v1beta2.EtcdRestoreList{}, func(page *v1beta2.EtcdRestoreList) bool {
		named = named || slices.Contains(restore.VolumesOf(&v.State, page.Items), name)
		return !named
	})
	if err != nil {
		return fmt.Errorf("list the EtcdRestores that may name PersistentVolumeClaim %s: %w", name, err)
	}
	if named {
		return fmt.Errorf("an EtcdRestore names PersistentVolumeClaim %s: %w", name, view.ErrBehind)
	}
	return nil
}

// liveRestore reads an EtcdRestore past the cache. It returns nil if that does not exist or is being deleted.
func (c *Confirmer) liveRestore(ctx context.Context, v *view.View, name string, uid types.UID) (*v1beta2.EtcdRestore, error) {
	var live v1beta2.EtcdRestore
	err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read EtcdRestore %s: %w", name, err)
	}
	if live.UID != uid || !live.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return &live, nil
}

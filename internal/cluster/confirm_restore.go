package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// confirmStepOfRestore reads past the cache what the steps of a restore depend on.
func (r *Reconciler) confirmStepOfRestore(ctx context.Context, v *view, step plan.Step) error {
	switch step.(type) {
	case plan.AwaitSafetySnapshot:
		return r.confirmStoppable(ctx, v)
	case plan.ReturnToSeeding:
		if err := r.confirmCancelled(ctx, v); err != nil {
			return err
		}
		return r.confirmOld(ctx, v, step)
	case plan.FailRestore:
		return r.confirmCancelled(ctx, v)
	case plan.BeginSwitch, plan.AdoptSeed:
		return r.confirmOld(ctx, v, step)
	}
	return nil
}

// confirmRestore reads past the cache whether the EtcdRestore still exists. If a user deletes it before the switch, the
// restore is undone, and the cache may not show that yet.
func (r *Reconciler) confirmRestore(ctx context.Context, v *view) error {
	exists, err := r.restoreExists(ctx, v, v.Request.Name, v.Request.UID)
	if err == nil && !exists {
		return fmt.Errorf("EtcdRestore %s is deleted, or another one has its name: %w", v.Request.Name, errBehind)
	}
	return err
}

// confirmCancelled fails if the plan takes the EtcdRestore under way for deleted, and it exists. The cache of a new leader may lack it.
func (r *Reconciler) confirmCancelled(ctx context.Context, v *view) error {
	if v.Restore == nil || v.Requested() {
		return nil
	}
	exists, err := r.restoreExists(ctx, v, v.Restore.Name, v.Restore.UID)
	if err == nil && exists {
		return fmt.Errorf("EtcdRestore %s is not deleted: %w", v.Restore.Name, errBehind)
	}
	return err
}

// restoreExists reads past the cache whether an EtcdRestore exists that is not being deleted.
func (r *Reconciler) restoreExists(ctx context.Context, v *view, name string, uid types.UID) (bool, error) {
	var live v1beta2.EtcdRestore
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read EtcdRestore %s: %w", name, err)
	}
	return live.UID == uid && live.DeletionTimestamp.IsZero(), nil
}

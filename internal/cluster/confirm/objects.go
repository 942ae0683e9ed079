package confirm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// confirmLost fails if the API server has the volume of a voter that has lost its data as far as the cache shows. The cluster
// would continue without that data.
func (c *Confirmer) confirmLost(ctx context.Context, v *view.View) error {
	for _, voter := range v.KnownVoters {
		if m, _ := state.Find(v.State, voter); v.HoldsData(m) {
			continue
		}
		if err := c.confirmAbsent(ctx, v, &corev1.PersistentVolumeClaim{}, voter); err != nil {
			return err
		}
	}
	return nil
}

// isLost reports whether an object is a volume whose PersistentVolume does not exist any more.
func isLost(object client.Object) bool {
	volume, is := object.(*corev1.PersistentVolumeClaim)
	return is && volume.Status.Phase == corev1.ClaimLost
}

// confirmAbsent fails if an object exists that is neither being deleted nor lost, nor set aside, nor a volume of unknown data.
func (c *Confirmer) confirmAbsent(ctx context.Context, v *view.View, object client.Object, name string) error {
	err := c.confirmFree(ctx, v, object, name)
	if err != nil && (!object.GetDeletionTimestamp().IsZero() || isLost(object) || view.IsSetAside(object) || isAnother(v, object)) {
		return nil
	}
	return err
}

// confirmFree fails if an object exists, also if it is being deleted: a new member of that name would start on the old data.
func (c *Confirmer) confirmFree(ctx context.Context, v *view.View, object client.Object, name string) error {
	err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read %s %s: %w", view.KindName(object), name, err)
	case v.Owns(object):
		return fmt.Errorf("%s %s exists: %w", view.KindName(object), name, view.ErrBehind)
	}
	return fmt.Errorf("%s %s has the name of a member: %w", view.KindName(object), name, view.ErrForeign)
}

// confirmUnused fails if the API server has a Pod of that name, or a volume that etcd may have used.
func (c *Confirmer) confirmUnused(ctx context.Context, v *view.View, name string) error {
	var volume corev1.PersistentVolumeClaim
	err := c.confirmAbsent(ctx, v, &volume, name)
	if unused := volume.Annotations[pods.AnnotationUnused] != "" && v.Owns(&volume); err != nil && !unused {
		return err
	}
	return c.confirmAbsent(ctx, v, &corev1.Pod{}, name)
}

// isAnother reports whether an object is a claim that its member has not served on: it is there, and the member's data is not.
func isAnother(v *view.View, object client.Object) bool {
	volume, is := object.(*corev1.PersistentVolumeClaim)
	if !is {
		return false
	}
	m, _ := state.Find(v.State, volume.Name)
	m.Volume, m.VolumeID = pods.VolumeOf(volume), pods.VolumeIDOf(volume)
	return state.OnAnotherVolume(v.State, m)
}

// confirmSameVolume fails if the claim of a member that is to start with its data is not the one that it served on. An old cache may show
// that one.
func (c *Confirmer) confirmSameVolume(ctx context.Context, v *view.View, name string) error {
	if _, recorded := v.KnownVolumes[name]; !recorded {
		return nil
	}
	var volume corev1.PersistentVolumeClaim
	if err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &volume); err != nil {
		return view.Wrap("read", &volume, client.IgnoreNotFound(err))
	}
	if isAnother(v, &volume) {
		return fmt.Errorf("PersistentVolumeClaim %s is not the one that the member served on: %w", name, view.ErrBehind)
	}
	return nil
}

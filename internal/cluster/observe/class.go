package observe

import (
	"context"
	"fmt"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// classRemembered is how long a default StorageClass is taken to exist after it was seen.
const classRemembered = time.Minute

func (d *defaultClass) known(now time.Time) bool {
	seen := d.seen.Load()
	return seen != nil && now.Sub(*seen) < classRemembered
}

// observeStorageClass checks whether a member without a class of its own can get a volume. If the operator has no right
// to read StorageClasses, it assumes that there is a default one. While there is none it looks in every pass, so that a
// class that a person makes is seen at once.
func (o *Observer) observeStorageClass(ctx context.Context, v *view.View) error {
	if given := v.PodPolicy().PersistentVolumeClaimSpec; !v.Durable() || (given != nil && given.StorageClassName != nil) || o.defaultClass.known(v.Now) {
		return nil
	}
	var classes storagev1.StorageClassList
	err := o.APIReader.List(ctx, &classes)
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list StorageClasses: %w", err)
	}
	v.NoStorageClass = !slices.ContainsFunc(classes.Items, func(class storagev1.StorageClass) bool {
		return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
	})
	if !v.NoStorageClass {
		o.defaultClass.seen.Store(&v.Now)
	}
	return nil
}

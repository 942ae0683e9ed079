package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// observeSourceClaim reads which claim has the name of the one from which a seed is restored: before the seed mounts it, and when it was read. A
// scheduled Pod keeps its claim from being deleted, so that the claim which is there then is the one that was read.
func (o *Observer) observeSourceClaim(ctx context.Context, v *view.View) error {
	if state.RestoreStep(v.State) != v1beta2.RestoreSeeding || !v.Requested() || v.Request.Volume == nil {
		return nil
	}
	if seed, _ := state.SeedMember(v.State); seed.Pod != state.PodNone && (seed.Seed == nil || seed.Seed.DoneAt.IsZero()) {
		return nil
	}
	claim := &metav1.PartialObjectMetadata{}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	err := o.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: v.Request.Volume.ClaimName}, claim)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read PersistentVolumeClaim %s: %w", v.Request.Volume.ClaimName, err)
	}
	v.SourceClaim = ptr.To(claim.UID) // empty if there is none
	return nil
}

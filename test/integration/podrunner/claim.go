package podrunner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claimsOf are the names of the claims that a Pod uses.
func claimsOf(pod *corev1.Pod) []string {
	var claims []string
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			claims = append(claims, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return claims
}

// ClaimDir is where the data of a claim lies.
func (r *Runner) ClaimDir(claim *corev1.PersistentVolumeClaim) string {
	return filepath.Join(r.dir, "claims", string(claim.UID))
}

// syncClaims binds the claims that Pods use, and takes back the data of those that are deleted and used no more.
func (r *Runner) syncClaims(ctx context.Context, used map[string]bool) error {
	var claims corev1.PersistentVolumeClaimList
	if err := r.client.List(ctx, &claims, client.InNamespace(r.namespace)); err != nil {
		return fmt.Errorf("list PersistentVolumeClaims: %w", err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		var err error
		switch {
		case !claim.DeletionTimestamp.IsZero() && !used[claim.Name]:
			err = r.release(ctx, claim)
		case claim.DeletionTimestamp.IsZero() && used[claim.Name]:
			err = r.bind(ctx, claim)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("PersistentVolumeClaim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// bind gives a claim its directory, and as much room as it asks for. To give it more later is a driver's part, and
// the test's.
func (r *Runner) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Status.Phase == corev1.ClaimBound {
		return nil
	}
	if err := os.MkdirAll(r.ClaimDir(claim), 0o700); err != nil {
		return err
	}
	if claim.Spec.VolumeName == "" {
		before := claim.DeepCopy()
		claim.Spec.VolumeName = "pv-" + string(claim.UID)
		if err := r.client.Patch(ctx, claim, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	before := claim.DeepCopy()
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.AccessModes = claim.Spec.AccessModes
	claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: *claim.Spec.Resources.Requests.Storage()}
	return r.client.Status().Patch(ctx, claim, client.MergeFrom(before))
}

// release lets a deleted claim go, and its data.
func (r *Runner) release(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if err := os.RemoveAll(r.ClaimDir(claim)); err != nil {
		return err
	}
	before := claim.DeepCopy()
	claim.Finalizers = nil
	return r.client.Patch(ctx, claim, client.MergeFrom(before))
}

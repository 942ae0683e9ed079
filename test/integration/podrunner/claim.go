package podrunner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// claimsOf returns the names of the claims that a Pod uses.
func claimsOf(pod *corev1.Pod) []string {
	var claims []string
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			claims = append(claims, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	return claims
}

// ClaimDir returns the directory with the data of a claim.
func (r *Runner) ClaimDir(claim *corev1.PersistentVolumeClaim) string {
	return filepath.Join(r.dir, "claims", string(claim.UID))
}

// syncClaims binds the claims that Pods use, and removes deleted claims with their data once no Pod uses them.
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

// bind creates the directory of a claim and sets its capacity to the requested size. It never expands a bound claim:
// the test acts as the driver.
func (r *Runner) bind(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim.Status.Phase == corev1.ClaimBound {
		return nil
	}
	if err := r.makeDir(r.ClaimDir(claim)); err != nil {
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

// makeDir creates and mounts the directory of a claim, once.
func (r *Runner) makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mount == nil {
		return nil
	}
	return r.mount(dir)
}

// release removes a deleted claim and its data.
func (r *Runner) release(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if err := os.RemoveAll(r.ClaimDir(claim)); err != nil {
		return err
	}
	before := claim.DeepCopy()
	claim.Finalizers = nil
	return r.client.Patch(ctx, claim, client.MergeFrom(before))
}

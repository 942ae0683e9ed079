// Package kube holds the few Kubernetes moves that more than one controller makes.
package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus writes what differs between before and after into the status of after, and nothing when nothing
// differs. It fails on a conflict: the next pass decides on what is there then.
func PatchStatus[T client.Object](ctx context.Context, c client.Client, before, after T) (changed bool, err error) {
	if equality.Semantic.DeepEqual(before, after) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, after, patch); err != nil {
		return false, fmt.Errorf("write status of %s: %w", client.ObjectKeyFromObject(after), err)
	}
	return true, nil
}

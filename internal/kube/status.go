// Package kube holds the Kubernetes operations that several controllers share.
package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchStatus writes the difference between before and after to the status. It writes nothing if they are equal. It fails
// on a conflict, because the next pass must decide on the new state. Texts for people in after have no character that hides others.
func PatchStatus[T client.Object](ctx context.Context, c client.Client, before, after T) (changed bool, err error) {
	makeLegible(after)
	if equality.Semantic.DeepEqual(before, after) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, after, patch); err != nil {
		return false, fmt.Errorf("write status of %s: %w", client.ObjectKeyFromObject(after), err)
	}
	return true, nil
}

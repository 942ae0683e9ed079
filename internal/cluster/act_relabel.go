package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// relabel brings a Pod's labels and annotations to what the spec asks; the Pod runs on.
func (r *Reconciler) relabel(ctx context.Context, v *view, name string) error {
	var pod corev1.Pod
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return wrap("read", &pod, client.IgnoreNotFound(err))
	}
	patch, err := json.Marshal(relabelPatch(v.State, &pod))
	if err != nil {
		return fmt.Errorf("word the labels of Pod %s: %w", name, err)
	}
	return wrap("label", &pod, r.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, patch)))
}

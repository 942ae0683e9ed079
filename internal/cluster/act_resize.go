package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// resizePod asks Kubernetes to change CPU and memory of a running Pod. It first notes on the Pod what it asks for. If
// Kubernetes refuses that for good, the note says so, and the plan recreates the Pod instead.
func (r *Reconciler) resizePod(ctx context.Context, v *view, step plan.ResizePod) error {
	pod := &corev1.Pod{}
	if err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, pod); err != nil {
		return wrap("read", pod, client.IgnoreNotFound(err))
	}
	if !v.owns(pod) {
		return fmt.Errorf("resize Pod %s: %w", step.Name, errForeign)
	}
	asked := resize{Template: template(v.State), At: v.Now}
	before := resizeOf(pod)
	if before.Template == asked.Template && before.Refused == "" {
		asked.At = before.At // the time of the first attempt bounds all of them
	}
	if before.Template != "" && pod.Annotations[annotationTemplate] == asked.Template {
		pod.Annotations[annotationTemplate] = before.Template // the resize before is taken back
	}
	if err := r.noteResize(ctx, pod, asked); err != nil {
		return err
	}
	patch, err := resizePatch(pod, v.PodPolicy().Resources)
	if err != nil {
		return err
	}
	err = r.Client.SubResource("resize").Patch(ctx, pod.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
	if exceedsQuota(err) { // its time begins when there is room
		return errors.Join(wrap("resize", pod, err), r.noteResize(ctx, pod, before))
	}
	if !refusesResize(err) {
		return wrap("resize", pod, err)
	}
	asked.Refused = err.Error()
	return r.noteResize(ctx, pod, asked)
}

// noteResize writes annotationResize, and what the Pod was made for. It removes the note if nothing is asked.
func (r *Reconciler) noteResize(ctx context.Context, pod *corev1.Pod, asked resize) error {
	var note any
	if asked.Template != "" {
		note = text(asked)
	}
	annotations := map[string]any{annotationResize: note}
	if made := pod.Annotations[annotationTemplate]; made != "" {
		annotations[annotationTemplate] = made
	}
	patch := map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}}
	return wrap("mark", pod, r.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text(patch)))))
}

// resizePatch replaces the resources of etcd's container in the Pod that was read, and in no other.
func resizePatch(pod *corev1.Pod, want corev1.ResourceRequirements) ([]byte, error) {
	for i, c := range pod.Spec.Containers {
		if c.Name != plan.EtcdContainer {
			continue
		}
		path := fmt.Sprintf("/spec/containers/%d", i)
		patch, err := json.Marshal([]map[string]any{
			{"op": "test", "path": "/metadata/uid", "value": pod.UID},
			{"op": "test", "path": path + "/name", "value": c.Name},
			{"op": "add", "path": path + "/resources", "value": want},
		})
		if err != nil {
			return nil, fmt.Errorf("encode the resources of Pod %s: %w", pod.Name, err)
		}
		return patch, nil
	}
	return nil, fmt.Errorf("resize Pod %s: it has no container %s", pod.Name, plan.EtcdContainer)
}

// refusesResize reports whether Kubernetes will never accept a resize: it has no such subresource, the operator has no right
// to use it, or the change is not possible in a running Pod. A quota may allow it later, but a restart would not help either.
func refusesResize(err error) bool {
	if err == nil || exceedsQuota(err) {
		return false
	}
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

func exceedsQuota(err error) bool {
	return err != nil && strings.Contains(err.Error(), "exceeded quota")
}

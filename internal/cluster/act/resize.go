package act

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/dryrun"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// resizePod asks Kubernetes to change CPU and memory of a running Pod. It first notes on the Pod what it asks for. If
// Kubernetes refuses that for good, the note says so, and the plan recreates the Pod instead.
func (p *podActs) resizePod(ctx context.Context, v *view.View, step steps.ResizePod) error {
	pod := &corev1.Pod{}
	if err := p.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: step.Name}, pod); err != nil {
		return view.Wrap("read", pod, client.IgnoreNotFound(err))
	}
	if !v.Owns(pod) {
		return fmt.Errorf("resize Pod %s: %w", step.Name, view.ErrForeign)
	}
	asked := pods.Resize{Template: pods.Template(v.State), At: v.Now}
	before := pods.ResizeOf(pod)
	if before.Template != "" && pod.Annotations[pods.AnnotationTemplate] == asked.Template {
		pod.Annotations[pods.AnnotationTemplate] = before.Template // the resize before is taken back
	}
	if before.Template == asked.Template && before.Forbidden != "" {
		asked = before // until Kubernetes allows it, nothing is to be noted
	} else {
		if before.Template == asked.Template && before.Refused == "" {
			asked.At = before.At // the time of the first attempt bounds all of them
		}
		if err := p.noteResize(ctx, pod, asked); err != nil {
			return err
		}
	}
	patch, err := resizePatch(pod, v.PodPolicy().Resources)
	if err != nil {
		return err
	}
	err = p.Client.SubResource("resize").Patch(ctx, pod.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
	switch {
	case apierrors.IsForbidden(err):
		return p.forbidden(ctx, pod, asked, err)
	case refusesResize(err):
		asked.Refused, asked.Forbidden = err.Error(), ""
		return p.noteResize(ctx, pod, asked)
	case err == nil && asked.Forbidden != "":
		asked.At, asked.Forbidden = v.Now, "" // the node has its time from now on
		return p.noteResize(ctx, pod, asked)
	}
	return view.Wrap("resize", pod, err)
}

// forbidden notes that Kubernetes does not allow a resize now, and reports it. The member keeps running, and the operator tries
// again: a restart would be no cure, because the same quota or LimitRange would refuse the new Pod.
func (p *podActs) forbidden(ctx context.Context, pod *corev1.Pod, asked pods.Resize, cause error) error {
	if asked.Forbidden == "" {
		asked.Forbidden = cause.Error()
		if err := p.noteResize(ctx, pod, asked); err != nil {
			return err
		}
	}
	return &dryrun.Refusal{Message: fmt.Sprintf("Kubernetes does not allow the operator to change CPU and memory of Pod %s in place: %v. The member continues with its present CPU and memory. "+
		"Correct the quota, the LimitRange or the rights of the operator, which tries again every %s. To restart the members instead, set the annotation %s in spec.pod.annotations.",
		pod.Name, cause, dryrun.RehearseAgain, pods.AnnotationRestartedAt)}
}

// noteResize writes AnnotationResize, and what the Pod was made for. It removes the note if nothing is asked.
func (p *podActs) noteResize(ctx context.Context, pod *corev1.Pod, asked pods.Resize) error {
	var note any
	if asked.Template != "" {
		note = pods.Text(asked)
	}
	annotations := map[string]any{pods.AnnotationResize: note}
	if made := pod.Annotations[pods.AnnotationTemplate]; made != "" {
		annotations[pods.AnnotationTemplate] = made
	}
	patch := map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": annotations}}
	return view.Wrap("mark", pod, p.Client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(pods.Text(patch)))))
}

// resizePatch replaces the resources of etcd's container in the Pod that was read, and in no other.
func resizePatch(pod *corev1.Pod, want corev1.ResourceRequirements) ([]byte, error) {
	for i, c := range pod.Spec.Containers {
		if c.Name != lifecycle.EtcdContainer {
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
	return nil, fmt.Errorf("resize Pod %s: it has no container %s", pod.Name, lifecycle.EtcdContainer)
}

// refusesResize reports whether Kubernetes will never accept a resize: it has no such subresource, or the change is not
// possible in a running Pod.
func refusesResize(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

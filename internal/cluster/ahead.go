package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

const (
	// annotationUnused is on a volume that was made for a member before it was added: no etcd has run on it.
	annotationUnused = v1beta2.Group + "/unused"
	// annotationAdded is on a Pod that waited until etcd had added its member, and does so no longer.
	annotationAdded = v1beta2.Group + "/added"
	// wholeVolume is its value: the path in the volume that etcd's container mounts.
	wholeVolume = "."
)

// untilAdded keeps a container from starting until its Pod has annotationAdded. The kubelet reads the annotations when it creates
// the container, creates none that mounts a path which is not known, and looks again when the Pod changes. By then the Pod has
// its node, its volume, its image and its address.
func untilAdded(c *corev1.Container) {
	c.Env = append([]corev1.EnvVar{fromAnnotation(plan.EnvAdded, annotationAdded)}, c.Env...)
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].Name == dataVolume {
			c.VolumeMounts[i].SubPathExpr = "$(" + plan.EnvAdded + ")"
		}
	}
}

// waits reports whether a Pod waits until etcd has added its member.
func waits(pod *corev1.Pod) bool {
	return pod.Annotations[annotationAdded] == "" && slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == plan.EtcdContainer && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == plan.EnvAdded && e.ValueFrom != nil })
	})
}

// ran reports whether the container of etcd has run in a Pod.
func ran(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == plan.EtcdContainer && (c.RestartCount > 0 || c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil)
	})
}

func fromAnnotation(name, annotation string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + annotation + "']"},
	}}
}

// addressSince is since when a Pod has an address, and zero if it has none.
func addressSince(pod *corev1.Pod) time.Time {
	if pod.Status.PodIP == "" {
		return time.Time{}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// releaseMember lets the Pod of a member that was added start etcd. Its volume counts as used first: if the operator is killed
// in between, the volume is not given to another member, and the Pod is released in the next pass.
func (r *Reconciler) releaseMember(ctx context.Context, v *view, name string) error {
	var pod corev1.Pod
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return wrap("read", &pod, client.IgnoreNotFound(err))
	}
	if v.Durable() {
		if err := r.markUsed(ctx, v, name); err != nil {
			return err
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         pod.UID, // never another Pod of that name
		"annotations": map[string]any{annotationAdded: wholeVolume, annotationInitialCluster: joinPeers(v.State, name)},
	}})
	if err != nil {
		return fmt.Errorf("encode the release of Pod %s: %w", name, err)
	}
	return wrap("release", &pod, client.IgnoreNotFound(r.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, patch))))
}

// markUsed records on a volume that etcd may run on it from now on.
func (r *Reconciler) markUsed(ctx context.Context, v *view, name string) error {
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, annotationUnused)
	return wrap("mark", volume, client.IgnoreNotFound(r.Client.Patch(ctx, volume, client.RawPatch(types.MergePatchType, patch))))
}

// confirmUnused fails if the API server has a Pod of that name, or a volume that etcd may have used.
func (r *Reconciler) confirmUnused(ctx context.Context, v *view, name string) error {
	var volume corev1.PersistentVolumeClaim
	err := r.confirmAbsent(ctx, v, &volume, name)
	if unused := volume.Annotations[annotationUnused] != "" && v.owns(&volume); err != nil && !unused {
		return err
	}
	return r.confirmAbsent(ctx, v, &corev1.Pod{}, name)
}

// confirmWaits fails if the Pod of a member that is to be added does not wait.
func (r *Reconciler) confirmWaits(ctx context.Context, v *view, name string) error {
	var pod corev1.Pod
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Pod %s: %w", name, err)
	}
	if err != nil || !v.owns(&pod) || !pod.DeletionTimestamp.IsZero() || !waits(&pod) {
		return fmt.Errorf("the Pod %s does not wait: %w", name, errBehind)
	}
	return nil
}

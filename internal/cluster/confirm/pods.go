package confirm

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/lifecycle"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// confirmNotReady fails if the Pod of a member that is to be removed because it does not serve is ready, or was ready after the cache saw it:
// its time without an answer began later. An old cache may show an earlier Pod, or one that was still starting. A Pod that the cache does not have may
// have the data of a member, although it is not ready: that of an earlier operator is not ready behind a fence.
func (c *Confirmer) confirmNotReady(ctx context.Context, v *view.View, step steps.RemoveMember) error {
	key := client.ObjectKey{Namespace: v.Namespace, Name: step.Name}
	var live, known corev1.Pod
	if err := c.APIReader.Get(ctx, key, &live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read Pod %s: %w", step.Name, err)
	}
	ready, since := pods.Readiness(&live)
	if ready {
		return fmt.Errorf("the Pod %s is ready: %w", step.Name, view.ErrBehind)
	}
	if err := c.Client.Get(ctx, key, &known); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Pod %s: %w", step.Name, err)
	}
	if step.DataGone() && live.UID != known.UID {
		return fmt.Errorf("the Pod %s was created since then: %w", step.Name, view.ErrBehind)
	}
	if podState, _, _ := lifecycle.PodStateOf(&live, v.Now); podState == state.PodRunning && plan.NotRunning(v.State, step.Name) {
		return fmt.Errorf("the Pod %s runs by now: %w", step.Name, view.ErrBehind)
	}
	if _, before := pods.Readiness(&known); step.Unresponsive() && !since.Equal(before) {
		return fmt.Errorf("the Pod %s has been ready since then, or is another one: %w", step.Name, view.ErrBehind)
	}
	return nil
}

// confirmNotRunning fails if a Pod runs that the cache shows as blocked, ended or starting.
func (c *Confirmer) confirmNotRunning(ctx context.Context, v *view.View, name string) error {
	if !plan.NotRunning(v.State, name) {
		return nil
	}
	var pod corev1.Pod
	if err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("read Pod %s: %w", name, err)
	}
	if podState, _, _ := lifecycle.PodStateOf(&pod, v.Now); podState == state.PodRunning {
		return fmt.Errorf("the Pod %s runs: %w", name, view.ErrBehind)
	}
	return nil
}

// confirmReadiness fails if a Pod that counts in place of its member's answer is being deleted, or is not ready as the plan saw it.
func (c *Confirmer) confirmReadiness(ctx context.Context, v *view.View, step steps.DeletePod) error {
	for _, counted := range plan.CountedByPod(v.State, step) {
		var pod corev1.Pod
		err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: counted.Name}, &pod)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read Pod %s: %w", counted.Name, err)
		}
		live := counted.WithoutPod()
		if err == nil && v.Owns(&pod) && pod.DeletionTimestamp.IsZero() {
			pods.ObservePod(&live, &pod, v.Now)
		}
		if live.Pod == state.PodNone || live.PodReady != counted.PodReady {
			return fmt.Errorf("the Pod %s is ready, is not ready or has stopped since then: %w", counted.Name, view.ErrBehind)
		}
	}
	return nil
}

// confirmWaits fails if the Pod of a member that is to be added does not wait.
func (c *Confirmer) confirmWaits(ctx context.Context, v *view.View, name string) error {
	var pod corev1.Pod
	err := c.APIReader.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Pod %s: %w", name, err)
	}
	if err != nil || !v.Owns(&pod) || !pod.DeletionTimestamp.IsZero() || !pods.Waits(&pod) {
		return fmt.Errorf("the Pod %s does not wait: %w", name, view.ErrBehind)
	}
	return nil
}

package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/members"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// actOnPods does the steps that create, change or delete Pods of members.
func (p *podActs) actOnPods(ctx context.Context, v *view.View, step steps.Step) error {
	switch step := step.(type) {
	case steps.CreateMembers:
		return p.createMembers(ctx, v, step)
	case steps.CreateMember:
		if err := p.confirmer.ConfirmForce(ctx, v, step); err != nil {
			return err
		}
		return p.createMember(ctx, v, step)
	case steps.ReleaseMember:
		return p.releaseMember(ctx, v, step.Name)
	case steps.PromoteStandby:
		return p.promoteStandby(ctx, v, step)
	case steps.AddToService:
		return p.addToService(ctx, v, step.Name)
	case steps.RemoveFromService:
		return p.removeFromService(ctx, v, step.Name)
	case steps.RelabelPod:
		return p.relabel(ctx, v, step.Name)
	case steps.ForbidEmptyStart:
		return p.forbidEmptyStart(ctx, v, step.Name)
	case steps.ResizePod:
		return p.resizePod(ctx, v, step)
	case steps.LoadCertificates:
		return p.markLoaded(ctx, v, step)
	case steps.DeletePod:
		if err := p.rehearsals.RehearseSuccessor(ctx, v, step); err != nil {
			return err
		}
		leave(ctx, p.confirmer.Connections, v, step)
		if step.Briefly {
			return p.delete(ctx, v, &corev1.Pod{}, step.Name, client.GracePeriodSeconds(pods.StopGrace))
		}
		return p.delete(ctx, v, &corev1.Pod{}, step.Name)
	case steps.ForceDeletePod:
		if step.Stopped {
			return p.deleteStopped(ctx, v, step.Name)
		}
		return p.delete(ctx, v, &corev1.Pod{}, step.Name, client.GracePeriodSeconds(0))
	case steps.StopMembers:
		return p.stopMembers(ctx, v, step.Except)
	default:
		return fmt.Errorf("step %T is not about Pods", step)
	}
}

// leaveTimeout is more than etcd needs for a change of its members, and short for a pass.
const leaveTimeout = 500 * time.Millisecond

// leave removes an old member from its own cluster before its Pod is deleted, if the step says so. That spares its clients some seconds. An error changes
// nothing, because the Pod is deleted after it: etcd may refuse the change, or the member may end before it answers.
func leave(ctx context.Context, c *members.Connections, v *view.View, step steps.DeletePod) {
	if step.Leaves == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	_ = c.With(ctx, v, step.Name, func(member members.Etcd) error { return member.Remove(ctx, step.Leaves) })
}

// deleteStopped deletes the object of a Pod that has stopped. It deletes the Pod that it reads, because another one of that name
// may run by now.
func (p *podActs) deleteStopped(ctx context.Context, v *view.View, name string) error {
	var pod corev1.Pod
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return view.Wrap("read", &pod, client.IgnoreNotFound(err))
	}
	if !v.Owns(&pod) || !pods.HasStopped(&pod) {
		return fmt.Errorf("the Pod %s has not stopped: %w", name, view.ErrBehind)
	}
	return view.Wrap("delete", &pod, client.IgnoreNotFound(p.Client.Delete(ctx, &pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})))
}

// stopMembers stops the leader last: one that stops while its followers still run tries to hand over to one of them,
// in vain for 7 s or until it is killed, and one that has lost them ends at once.
func (p *podActs) stopMembers(ctx context.Context, v *view.View, except int32) error {
	var leaders, stop []state.Member
	for _, m := range v.Members {
		switch {
		case m.Incarnation == except || m.Pod == state.PodNone || m.Pod == state.PodDeleting:
		case m.Leader:
			leaders = append(leaders, m)
		default:
			stop = append(stop, m)
		}
	}
	var errs []error
	for _, m := range append(stop, leaders...) {
		errs = append(errs, p.delete(ctx, v, &corev1.Pod{}, m.Name, client.GracePeriodSeconds(pods.StopGrace)))
	}
	return errors.Join(errs...)
}

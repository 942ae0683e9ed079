package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// actOnPods does the steps that create, change or delete Pods of members.
func (r *Reconciler) actOnPods(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.CreateMembers:
		return r.createMembers(ctx, v, step)
	case plan.CreateMember:
		if err := r.confirmForce(ctx, v, step); err != nil {
			return err
		}
		return r.createMember(ctx, v, step)
	case plan.ReleaseMember:
		return r.releaseMember(ctx, v, step.Name)
	case plan.AddToService:
		return r.addToService(ctx, v, step.Name)
	case plan.RemoveFromService:
		return r.removeFromService(ctx, v, step.Name)
	case plan.RelabelPod:
		return r.relabel(ctx, v, step.Name)
	case plan.ForbidEmptyStart:
		return r.forbidEmptyStart(ctx, v, step.Name)
	case plan.ResizePod:
		return r.resizePod(ctx, v, step)
	case plan.LoadCertificates:
		return r.markLoaded(ctx, v, step)
	case plan.DeletePod:
		if err := r.rehearseSuccessor(ctx, v, step); err != nil {
			return err
		}
		return r.delete(ctx, v, &corev1.Pod{}, step.Name)
	case plan.ForceDeletePod:
		if step.Stopped {
			return r.deleteStopped(ctx, v, step.Name)
		}
		return r.delete(ctx, v, &corev1.Pod{}, step.Name, client.GracePeriodSeconds(0))
	case plan.StopMembers:
		return r.stopMembers(ctx, v, step.Except)
	default:
		return fmt.Errorf("step %T is not about Pods", step)
	}
}

// deleteStopped deletes the object of a Pod that has stopped. It deletes the Pod that it reads, because another one of that name
// may run by now.
func (r *Reconciler) deleteStopped(ctx context.Context, v *view, name string) error {
	var pod corev1.Pod
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return wrap("read", &pod, client.IgnoreNotFound(err))
	}
	if !v.owns(&pod) || !hasStopped(&pod) {
		return fmt.Errorf("the Pod %s has not stopped: %w", name, errBehind)
	}
	return wrap("delete", &pod, client.IgnoreNotFound(r.Client.Delete(ctx, &pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})))
}

// relabel brings a Pod's labels and annotations to what the spec asks; the Pod runs on.
func (r *Reconciler) relabel(ctx context.Context, v *view, name string) error {
	var pod corev1.Pod
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, &pod); err != nil {
		return wrap("read", &pod, client.IgnoreNotFound(err))
	}
	patch, err := json.Marshal(relabelPatch(v.State, &pod))
	if err != nil {
		return fmt.Errorf("encode the labels of Pod %s: %w", name, err)
	}
	return wrap("label", &pod, r.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, patch)))
}

// markLoaded marks a Pod with the fingerprint of its certificates, so that its kubelet reads its Secrets.
func (r *Reconciler) markLoaded(ctx context.Context, v *view, step plan.LoadCertificates) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: step.Name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotationLoaded, step.Loaded)
	return wrap("mark", pod, r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch)))
}

func (r *Reconciler) createMembers(ctx context.Context, v *view, step plan.CreateMembers) error {
	if err := r.rehearseFirst(ctx, v, step); err != nil {
		return err
	}
	var errs []error
	for _, name := range v.Bootable(step.Incarnation, step.Size) {
		errs = append(errs, r.createMember(ctx, v, plan.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size, Start: plan.StartNew}))
	}
	return errors.Join(errs...)
}

// rehearseFirst looks, before a cluster has members, whether Kubernetes drops a setting that a Pod must have to be safe.
func (r *Reconciler) rehearseFirst(ctx context.Context, v *view, step plan.CreateMembers) error {
	names := v.Bootable(step.Incarnation, step.Size)
	if v.PodPolicy().HostUsers == nil || len(names) == 0 {
		return nil
	}
	return r.rehearse(ctx, v, names[0], plan.StartNew)
}

// createMember makes a member's Pod, and before it the volume of one that is yet to get data. The volumes of those
// who form a cluster are there, and a member that comes back never gets another.
func (r *Reconciler) createMember(ctx context.Context, v *view, step plan.CreateMember) error {
	if step.Waits {
		if err := r.rehearse(ctx, v, step.Name, plan.StartJoin); err != nil {
			return err
		}
	}
	if v.Durable() && (step.Start == plan.StartJoin || step.Start == plan.StartSeed) {
		volume := newVolume(v.State, step)
		if err := r.create(ctx, v, volume); err != nil {
			return err
		}
		if existed := volume.UID == ""; existed && !step.Waits {
			if err := r.markUsed(ctx, v, step.Name); err != nil {
				return err
			}
		}
	}
	return r.create(ctx, v, newPod(v.State, step, r.SeedImage))
}

// addMember adds a learner, which is started once it is known. A voter is started first: it counts at once, and with
// it the first member of a cluster has no quorum until the second runs, nor can it tell who is to be started.
func (r *Reconciler) addMember(ctx context.Context, v *view, step plan.AddLearner) error {
	if step.Voter {
		if err := r.createMember(ctx, v, plan.CreateMember{Name: step.Name, Incarnation: v.Incarnation, Start: plan.StartJoin}); err != nil {
			return err
		}
	}
	if m, _ := v.Member(step.Name); !step.Voter && !m.Waits {
		if err := r.rehearse(ctx, v, step.Name, plan.StartJoin); err != nil {
			return err
		}
	}
	return r.changeMembers(ctx, v, step, "", func(member Etcd) error {
		if step.Voter {
			return member.AddVoter(ctx, step.PeerURL)
		}
		return member.AddLearner(ctx, step.PeerURL)
	})
}

// addToService adds the label that the client Service selects.
func (r *Reconciler) addToService(ctx context.Context, v *view, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, labelVoter)
	return wrap("label", pod, r.Client.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch)))
}

// removeFromService removes that label.
func (r *Reconciler) removeFromService(ctx context.Context, v *view, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, labelVoter)
	return wrap("label", pod, client.IgnoreNotFound(r.Client.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch))))
}

// stopGrace in seconds for members that all stop at once: none of their leaders finds another to take over. etcd's log
// is safe against being killed.
const stopGrace = 1

// stopMembers stops the leader last: one that stops while its followers still run tries to hand over to one of them,
// in vain for 7 s or until it is killed, and one that has lost them ends at once.
func (r *Reconciler) stopMembers(ctx context.Context, v *view, except int32) error {
	var leaders, stop []plan.Member
	for _, m := range v.Members {
		switch {
		case m.Incarnation == except || m.Pod == plan.PodNone || m.Pod == plan.PodDeleting:
		case m.Leader:
			leaders = append(leaders, m)
		default:
			stop = append(stop, m)
		}
	}
	var errs []error
	for _, m := range append(stop, leaders...) {
		errs = append(errs, r.delete(ctx, v, &corev1.Pod{}, m.Name, client.GracePeriodSeconds(stopGrace)))
	}
	return errors.Join(errs...)
}

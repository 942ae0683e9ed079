package cluster

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// act does the one effect of a step. It is idempotent: done twice, it is done once. Steps that only record
// something have their effect in the status.
func (r *Reconciler) act(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.ApplyServices:
		if err := r.apply(ctx, v, headlessService(v.State)); err != nil {
			return err
		}
		return r.apply(ctx, v, clientService(v.State, step))
	case plan.CreateVolumes, plan.KeepVolume, plan.ResizeVolume, plan.DeleteVolume:
		return r.actOnVolume(ctx, v, step)
	case plan.CreateMembers:
		return r.createMembers(ctx, v, step)
	case plan.CreateMember:
		if err := r.confirmForce(ctx, v, step); err != nil {
			return err
		}
		return r.createMember(ctx, v, step)
	case plan.ExposeMember:
		return r.expose(ctx, v, step.Name)
	case plan.AddLearner:
		return r.addMember(ctx, v, step)
	case plan.PromoteLearner:
		return r.withServing(v, "", func(member Etcd) error { return member.Promote(ctx, step.ID) })
	case plan.RemoveMember:
		return r.withServing(v, step.Name, func(member Etcd) error { return member.Remove(ctx, step.ID) })
	case plan.MoveLeader:
		return r.with(v, step.From, func(member Etcd) error { return member.MoveLeader(ctx, step.To) })
	case plan.EnableDowngrade:
		return r.withServing(v, "", func(member Etcd) error { return member.EnableDowngrade(ctx, step.To) })
	case plan.CancelDowngrade:
		return r.withServing(v, "", func(member Etcd) error { return member.CancelDowngrade(ctx) })
	case plan.RelabelPod:
		return r.relabel(ctx, v, step.Name)
	case plan.DeletePod:
		return r.delete(ctx, v, &corev1.Pod{}, step.Name)
	case plan.ForgetPod:
		return r.delete(ctx, v, &corev1.Pod{}, step.Name, client.GracePeriodSeconds(0))
	case plan.ApplyBudget:
		return r.apply(ctx, v, disruptionBudget(v.State, step))
	case plan.WithdrawBudget:
		return r.delete(ctx, v, &policyv1.PodDisruptionBudget{}, v.Name)
	case plan.StopMembers:
		return r.stopMembers(ctx, v, step.Except)
	}
	if done, err := r.actOnSpace(ctx, v, step); done {
		return err
	}
	return r.actTLS(ctx, v, step)
}

// actOnVolume does the steps that touch volumes only.
func (r *Reconciler) actOnVolume(ctx context.Context, v *view, step plan.Step) error {
	switch step := step.(type) {
	case plan.CreateVolumes:
		return r.createVolumes(ctx, v, step)
	case plan.KeepVolume:
		return r.keepVolume(ctx, v, step)
	case plan.ResizeVolume:
		return r.resizeVolume(ctx, v, step)
	case plan.DeleteVolume:
		return r.delete(ctx, v, &corev1.PersistentVolumeClaim{}, step.Name)
	}
	return nil
}

func (r *Reconciler) createVolumes(ctx context.Context, v *view, step plan.CreateVolumes) error {
	var errs []error
	for _, name := range v.InitialNames(step.Incarnation, step.Size) {
		member := plan.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size}
		errs = append(errs, r.create(ctx, v, newVolume(v.State, member)))
	}
	return errors.Join(errs...)
}

func (r *Reconciler) createMembers(ctx context.Context, v *view, step plan.CreateMembers) error {
	var errs []error
	for _, name := range v.Bootable(step.Incarnation, step.Size) {
		errs = append(errs, r.createMember(ctx, v, plan.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size, Start: plan.StartNew}))
	}
	return errors.Join(errs...)
}

// createMember makes a member's Pod, and before it the volume of one that is yet to get data. The volumes of those
// who form a cluster are there, and a member that comes back never gets another.
func (r *Reconciler) createMember(ctx context.Context, v *view, step plan.CreateMember) error {
	if v.Durable() && (step.Start == plan.StartJoin || step.Start == plan.StartSeed) {
		if err := r.create(ctx, v, newVolume(v.State, step)); err != nil {
			return err
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
	return r.withServing(v, "", func(member Etcd) error {
		if step.Voter {
			return member.AddVoter(ctx, step.PeerURL)
		}
		return member.AddLearner(ctx, step.PeerURL)
	})
}

// create makes an object of the cluster; one that is there already and is the cluster's own is as good.
func (r *Reconciler) create(ctx context.Context, v *view, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.cluster, object, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own %T %s: %w", object, object.GetName(), err)
	}
	err := r.Client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return wrap("create", object, err)
	}
	there, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return wrap("create", object, err)
	}
	if getErr := r.APIReader.Get(ctx, client.ObjectKeyFromObject(object), there); getErr != nil {
		return wrap("read", object, getErr)
	}
	if !v.owns(there) {
		return fmt.Errorf("%T %s is there and belongs to something else: delete or rename it", object, object.GetName())
	}
	return nil
}

// apply makes an object as wanted and leaves alone what others set on it (server-side apply).
func (r *Reconciler) apply(ctx context.Context, v *view, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.cluster, object, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own %T %s: %w", object, object.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return wrap("convert", object, err)
	}
	delete(content, "status")
	configuration := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: content})
	return wrap("apply", object, r.Client.Apply(ctx, configuration, client.FieldOwner(Name), client.ForceOwnership))
}

// expose adds the label that the client Service selects.
func (r *Reconciler) expose(ctx context.Context, v *view, name string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, labelVoter)
	return wrap("label", pod, r.Client.Patch(ctx, pod, client.RawPatch("application/merge-patch+json", patch)))
}

// delete deletes an object of the cluster by its UID, so that one made again under the same name is safe.
func (r *Reconciler) delete(ctx context.Context, v *view, object client.Object, name string, options ...client.DeleteOption) error {
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, object); err != nil {
		return wrap("read", object, client.IgnoreNotFound(err))
	}
	if !v.owns(object) {
		return fmt.Errorf("%T %s belongs to something else and is not deleted", object, name)
	}
	uid := object.GetUID()
	return wrap("delete", object, client.IgnoreNotFound(r.Client.Delete(ctx, object, append(options, client.Preconditions{UID: &uid})...)))
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

// errNoAddress is for a member whose Pod has no address to dial.
var errNoAddress = errors.New("its Pod does not run")

// with talks to one member.
func (r *Reconciler) with(v *view, member string, do func(Etcd) error) error {
	if v.addresses[member] == "" {
		return fmt.Errorf("reach member %s: %w", member, errNoAddress)
	}
	connection, err := r.dial(v, member)
	if err != nil {
		return fmt.Errorf("reach member %s: %w", member, err)
	}
	defer connection.Close()
	return do(connection)
}

// withServing talks to a member of the current incarnation that serves, the leader if it can be, but not to the one named.
func (r *Reconciler) withServing(v *view, not string, do func(Etcd) error) error {
	chosen := ""
	for _, m := range v.Current() {
		if m.Serving && m.Name != not && (chosen == "" || m.Leader) {
			chosen = m.Name
		}
	}
	if chosen == "" {
		return fmt.Errorf("no member serves: %w", etcd.ErrNotYet)
	}
	return r.with(v, chosen, do)
}

func wrap(act string, object client.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %T %s: %w", act, object, object.GetName(), err)
}

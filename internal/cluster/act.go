package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"

	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// act does the one effect of a step. It is idempotent: done twice, it is done once.
func (r *Reconciler) act(ctx context.Context, v *view, step plan.Step) error {
	if err := v.confirmAsked(step); err != nil {
		return err
	}
	if err := r.confirm(ctx, v, step); err != nil {
		return err
	}
	if err := r.confirmData(ctx, v, step); err != nil {
		return err
	}
	if err := r.confirmClock(ctx, v, step); err != nil {
		return err
	}
	if err := r.brake.begin(client.ObjectKeyFromObject(v.cluster), step, v.Now); err != nil {
		return err
	}
	switch step := step.(type) {
	case plan.AddLearner, plan.PromoteLearner, plan.RemoveMember, plan.MoveLeader, plan.EnableDowngrade, plan.CancelDowngrade,
		plan.CompactHistory, plan.DefragmentMember, plan.DisarmAlarm, plan.FenceWrites, plan.UnfenceWrites:
		return r.actOnEtcd(ctx, v, step)
	case plan.CreateMembers, plan.CreateMember, plan.ReleaseMember, plan.AddToService, plan.RemoveFromService, plan.RelabelPod, plan.ForbidEmptyStart, plan.ResizePod, plan.LoadCertificates, plan.DeletePod,
		plan.ForceDeletePod, plan.StopMembers:
		return r.actOnPods(ctx, v, step)
	case plan.RestoreLabels:
		return r.restoreLabels(ctx, v, step)
	case plan.CreateVolumes, plan.KeepVolume, plan.ResizeVolume, plan.SetAsideVolume, plan.UnmarkVolume, plan.DeleteVolume, plan.RecordForcing, plan.RecordForced:
		return r.actOnVolumes(ctx, v, step)
	case plan.CreateCA, plan.ReplaceCA, plan.RemovePreviousCA, plan.RequestCertificates, plan.WriteCertificates:
		return r.actOnCertificates(ctx, v, step)
	case plan.ApplyServices:
		return r.applyServices(ctx, v, step)
	case plan.ApplyBudget:
		return r.apply(ctx, v, disruptionBudget(v.State, step))
	case plan.WithdrawBudget:
		return r.delete(ctx, v, &policyv1.PodDisruptionBudget{}, v.Name)
	case plan.ApplyNetworkPolicy:
		return r.applyNetworkPolicy(ctx, v, step)
	case plan.WithdrawNetworkPolicy:
		return r.delete(ctx, v, &networkingv1.NetworkPolicy{}, v.Name)
	case plan.Done, plan.Idle, plan.Wait, plan.AwaitResize, plan.Hibernating, plan.VolumeMayFill, plan.Advice:
		return nil // there is nothing to do
	case plan.BeginBootstrap, plan.BeginRemoval, plan.RecordFormed, plan.RecordPromotion, plan.RecordVersionChange, plan.EndDefragmentation,
		plan.BeginRestore, plan.AwaitSafetySnapshot, plan.BeginSwitch, plan.ReturnToSeeding, plan.AdoptSeed, plan.CompleteRestore, plan.FailRestore,
		plan.BeginRecovery, plan.CancelRecovery, plan.CompleteRecovery:
		return nil // the effect is in the status
	default:
		return fmt.Errorf("unknown step %T", step)
	}
}

// create makes an object of the cluster; one that is there already and is the cluster's own is as good.
func (r *Reconciler) create(ctx context.Context, v *view, object client.Object) error {
	if err := controllerutil.SetControllerReference(v.cluster, object, r.Client.Scheme()); err != nil {
		return fmt.Errorf("set the owner of %s %s: %w", kindName(object), object.GetName(), err)
	}
	err := r.Client.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return wrap("create", object, err)
	}
	there := blank(object)
	if getErr := r.APIReader.Get(ctx, client.ObjectKeyFromObject(object), there); getErr != nil {
		return wrap("read", object, getErr)
	}
	if !v.owns(there) || isSetAside(there) {
		return fmt.Errorf("%s %s: %w", kindName(object), object.GetName(), errForeign)
	}
	return nil
}

// delete deletes an object of the cluster by its UID, so that one made again under the same name is safe.
func (r *Reconciler) delete(ctx context.Context, v *view, object client.Object, name string, options ...client.DeleteOption) error {
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: v.Namespace, Name: name}, object); err != nil {
		return wrap("read", object, client.IgnoreNotFound(err))
	}
	if !v.owns(object) {
		return fmt.Errorf("%s %s is not deleted: %w", kindName(object), name, errForeign)
	}
	uid := object.GetUID()
	return wrap("delete", object, client.IgnoreNotFound(r.Client.Delete(ctx, object, append(options, client.Preconditions{UID: &uid})...)))
}

// errNoAddress is for a member whose Pod has no address to dial.
var errNoAddress = errors.New("its Pod does not run")

// with talks to one member.
func (r *Reconciler) with(ctx context.Context, v *view, member string, do func(Etcd) error) error {
	if v.addresses[member] == "" {
		return fmt.Errorf("reach member %s: %w", member, errNoAddress)
	}
	connection, err := r.dial(v, member)
	if err != nil {
		return fmt.Errorf("reach member %s: %w", member, err)
	}
	defer connection.Close()
	if err := v.confirmIdentity(ctx, member, connection); err != nil {
		return err
	}
	return do(connection)
}

// withServing talks to a member of the current incarnation that serves, the leader if it can be, but not to the one named.
func (r *Reconciler) withServing(ctx context.Context, v *view, not string, do func(Etcd) error) error {
	names := serving(v, not)
	if len(names) == 0 {
		return fmt.Errorf("no member serves: %w", etcd.ErrNotYet)
	}
	return r.with(ctx, v, names[0], do)
}

// changeMembers is withServing for a change of the membership. The member that is asked refuses it if it has no connection to all voters. That protects
// the quorum, but etcd can be wrong for good. So if it refuses for long, the others are asked, too: each judges by its own connections.
func (r *Reconciler) changeMembers(ctx context.Context, v *view, step plan.Step, not string, do func(Etcd) error) error {
	err := r.withServing(ctx, v, not, do)
	if !errors.Is(err, etcd.ErrUnconnected) || !v.RefusedForLong(step) {
		return err
	}
	for _, name := range serving(v, not)[1:] {
		if err = r.with(ctx, v, name, do); !errors.Is(err, etcd.ErrUnconnected) {
			return err
		}
	}
	return err
}

// serving returns the members that serve, but not the one named, the leader first.
func serving(v *view, not string) (names []string) {
	for _, m := range v.Current() {
		switch {
		case !m.Serving || m.Name == not:
		case m.Leader:
			names = append([]string{m.Name}, names...)
		default:
			names = append(names, m.Name)
		}
	}
	return names
}

func wrap(act string, object client.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %s: %w", act, kindName(object), object.GetName(), err)
}

// kindName returns the kind of an object, for a message that a user reads. Most objects that were read do not carry it.
func kindName(object client.Object) string {
	return cmp.Or(object.GetObjectKind().GroupVersionKind().Kind, reflect.Indirect(reflect.ValueOf(object)).Type().Name())
}

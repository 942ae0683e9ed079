package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/membership"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

func (p *podActs) createMembers(ctx context.Context, v *view.View, step steps.CreateMembers) error {
	if err := p.rehearseFirst(ctx, v, step); err != nil {
		return err
	}
	var errs []error
	for _, name := range membership.Bootable(v.State, step.Incarnation, step.Size) {
		errs = append(errs, p.createMember(ctx, v, steps.CreateMember{Name: name, Incarnation: step.Incarnation, InitialSize: step.Size, Start: state.StartNew}))
	}
	return errors.Join(errs...)
}

// rehearseFirst looks, before a cluster has members, whether Kubernetes drops a setting that a Pod must have to be safe.
func (p *podActs) rehearseFirst(ctx context.Context, v *view.View, step steps.CreateMembers) error {
	names := membership.Bootable(v.State, step.Incarnation, step.Size)
	if v.PodPolicy().HostUsers == nil || len(names) == 0 {
		return nil
	}
	return p.rehearsals.Rehearse(ctx, v, names[0], state.StartNew)
}

// createMember makes a member's Pod, and before it the volume of one that is yet to get data. The volumes of those
// who form a cluster are there, and a member that comes back never gets another.
func (p *podActs) createMember(ctx context.Context, v *view.View, step steps.CreateMember) error {
	if step.Waits {
		if err := p.rehearsals.Rehearse(ctx, v, step.Name, state.StartJoin); err != nil {
			return err
		}
	}
	if v.Durable() && (step.Start == state.StartJoin || step.Start == state.StartSeed) {
		volume := pods.NewVolume(v.State, step)
		if err := p.create(ctx, v, volume); err != nil {
			return err
		}
		if existed := volume.UID == ""; existed && !step.Waits {
			if err := p.markUsed(ctx, v, step.Name); err != nil {
				return err
			}
		}
	}
	return p.create(ctx, v, p.rehearsals.NewPod(v.State, step))
}

// markUsed records on a volume that etcd may run on it from now on.
func (p *podActs) markUsed(ctx context.Context, v *view.View, name string) error {
	volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.Namespace, Name: name}}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, pods.AnnotationUnused)
	return view.Wrap("mark", volume, client.IgnoreNotFound(p.Client.Patch(ctx, volume, client.RawPatch(types.MergePatchType, patch))))
}

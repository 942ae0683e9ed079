package observe

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-suite/etcd-operator/internal/cluster/kubecache"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/services"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// ObserveBudget reads the cluster's PodDisruptionBudget, and looks for one of somebody else that is for its Pods.
func (o *Observer) ObserveBudget(ctx context.Context, v *view.View) error {
	all, err := o.ListIndexed(ctx, v, &policyv1.PodDisruptionBudgetList{}, kubecache.KeyOfUID(v.UID), kubecache.KeyOfName(v.Name), kubecache.ForeignBudgets)
	if err != nil {
		return err
	}
	member := labels.Set(pods.Labels(v.State, steps.CreateMember{Incarnation: v.Incarnation}))
	for _, object := range all {
		budget, ok := object.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		if metav1.IsControlledBy(budget, v.Cluster) {
			objects.ReadBudget(&v.Budget, v.State, budget)
			services.NoteMetadata(&v.State, "PodDisruptionBudget", budget.Name, budget)
			continue
		}
		if budget.Name == v.Name {
			v.NoteForeign("PodDisruptionBudget", budget)
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(member) && budget.DeletionTimestamp.IsZero() {
			v.Budget.Other = budget.Name
		}
	}
	if !v.Budget.Exists {
		v.Repeats.Forget(steps.ApplyBudget{})
	}
	return nil
}

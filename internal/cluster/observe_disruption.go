package cluster

import (
	"context"
	"strconv"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
)

// observeBudget reads the cluster's PodDisruptionBudget, and looks for one of somebody else that is for its Pods.
func (r *Reconciler) observeBudget(ctx context.Context, v *view) error {
	all, err := r.listIndexed(ctx, v, &policyv1.PodDisruptionBudgetList{}, keyOfUID(v.UID), keyOfName(v.Name), foreignBudgets)
	if err != nil {
		return err
	}
	member := labels.Set(podLabels(v.State, plan.CreateMember{Incarnation: v.Incarnation}))
	for _, object := range all {
		budget, ok := object.(*policyv1.PodDisruptionBudget)
		if !ok {
			continue
		}
		if metav1.IsControlledBy(budget, v.cluster) {
			see(&v.Budget, v.State, budget)
			continue
		}
		if budget.Name == v.Name {
			v.noteForeign("PodDisruptionBudget", budget)
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(member) && budget.DeletionTimestamp.IsZero() {
			v.Budget.Other = budget.Name
		}
	}
	if !v.Budget.Exists {
		v.known.repeats.Forget(plan.ApplyBudget{})
	}
	return nil
}

func see(b *plan.Budget, s plan.State, have *policyv1.PodDisruptionBudget) {
	b.Exists = true
	if have.Spec.Selector != nil {
		incarnation, _ := strconv.ParseInt(have.Spec.Selector.MatchLabels[v1beta2.LabelIncarnation], 10, 32)
		b.Incarnation = int32(incarnation)
	}
	if have.Spec.MinAvailable != nil {
		b.MinAvailable = have.Spec.MinAvailable.IntValue()
	}
	want := disruptionBudget(s, plan.ApplyBudget{Incarnation: b.Incarnation, MinAvailable: b.MinAvailable})
	b.Current = equality.Semantic.DeepEqual(want.Spec, have.Spec) && equality.Semantic.DeepDerivative(want.Labels, have.Labels)
}

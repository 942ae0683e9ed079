package objects

import (
	"strconv"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/modes"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
)

// DisruptionBudget covers the voters of one incarnation, as the client Service does. A member that is not ready is
// no help to quorum, and its eviction is not held up; with emptyDir it is, while quorum needs it, for its data goes along. The same is
// true while writes are refused, and Pods of an earlier operator are not ready for that.
func DisruptionBudget(s state.State, want steps.ApplyBudget) *policyv1.PodDisruptionBudget {
	unhealthy := policyv1.AlwaysAllow
	if modes.KeepsUnready(s) {
		unhealthy = policyv1.IfHealthyBudget
	}
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace,
			Name:      s.Name,
			Labels:    map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: s.Name},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               ptr.To(intstr.FromInt(want.MinAvailable)),
			Selector:                   &metav1.LabelSelector{MatchLabels: votersOf(s, want.Incarnation)},
			UnhealthyPodEvictionPolicy: ptr.To(unhealthy),
		},
	}
}

// ReadBudget compares a live PodDisruptionBudget with that of a state.
func ReadBudget(b *state.Budget, s state.State, have *policyv1.PodDisruptionBudget) {
	b.Exists = true
	if have.Spec.Selector != nil {
		incarnation, _ := strconv.ParseInt(have.Spec.Selector.MatchLabels[v1beta2.LabelIncarnation], 10, 32)
		b.Incarnation = int32(incarnation)
	}
	if have.Spec.MinAvailable != nil {
		b.MinAvailable = have.Spec.MinAvailable.IntValue()
	}
	want := DisruptionBudget(s, steps.ApplyBudget{Incarnation: b.Incarnation, MinAvailable: b.MinAvailable})
	b.Current = equality.Semantic.DeepEqual(want.Spec, have.Spec) && equality.Semantic.DeepDerivative(want.Labels, have.Labels)
}

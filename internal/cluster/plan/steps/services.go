package steps

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/planning"
)

// RemoveFromService takes a member out of the client Service.
type RemoveFromService struct{ Name string }

func (step RemoveFromService) describe(s state.State) planning.Description {
	cause, event := "annotation "+v1beta2.AnnotationFence+" asks for it", "FencingMember"
	if m, _ := state.Find(s, step.Name); m.Learner {
		cause, event = "it does not vote yet and refuses most requests", "WithdrawingLearner"
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is taking member " + step.Name + " out of the client Service, because " + cause + ".",
		Requeue: state.RequeueSoon,
	}, event, planning.Pod(step.Name))
}

// RestoreLabels sets labels, annotations and the owner that a member's Pod or volume lost, or that it does not have yet
// because an earlier release created it.
type RestoreLabels struct {
	Name   string
	Volume bool
}

func (step RestoreLabels) describe(state.State) planning.Description {
	kind, about := "Pod ", planning.Pod(step.Name)
	if step.Volume {
		kind, about = "volume ", planning.Volume(step.Name)
	}
	return announced(planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is setting the labels by which Services and the operator find " + kind + step.Name + ".",
		Requeue: state.RequeueSoon,
	}, "RestoringLabels", about)
}

// ApplyBudget makes the PodDisruptionBudget as it should be.
type ApplyBudget struct {
	Incarnation  int32
	MinAvailable int
}

func (step ApplyBudget) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: fmt.Sprintf("The operator is setting the PodDisruptionBudget: drains must leave %d members.", step.MinAvailable),
		Requeue: state.RequeueSoon,
	}
}

// WithdrawBudget deletes it, because another one is for the same Pods.
type WithdrawBudget struct{ Other string }

func (step WithdrawBudget) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is deleting its PodDisruptionBudget, because " + step.Other + " selects the same Pods.",
		Requeue: state.RequeueSoon,
	}
}

// ApplyNetworkPolicy makes the NetworkPolicy as it should be.
type ApplyNetworkPolicy struct{ OpenPeers bool }

func (ApplyNetworkPolicy) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is applying the NetworkPolicy that spec.networkPolicy asks for.",
		Requeue: state.RequeueSoon,
	}
}

// WithdrawNetworkPolicy deletes it, because the spec no longer asks for one.
type WithdrawNetworkPolicy struct{}

func (WithdrawNetworkPolicy) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonSettling,
		Message: "The operator is deleting its NetworkPolicy, because spec.networkPolicy was removed.",
		Requeue: state.RequeueSoon,
	}
}

// ApplyServices makes the headless Service, and the client Service for an incarnation.
type ApplyServices struct {
	Incarnation int32
	ClusterID   string
	// RestoreUID is that of the EtcdRestore that made the incarnation.
	RestoreUID types.UID
	// WithoutUID leaves the EtcdCluster's UID out of the selectors.
	WithoutUID bool
	// Unready: the client Service selects members whose Pods are not ready, too.
	Unready bool
}

func (ApplyServices) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonCreating,
		Message: "The operator is creating the Services.",
		Requeue: state.RequeueSoon,
	}
}

// AddToService lets the client Service select a member that votes.
type AddToService struct{ Name string }

func (step AddToService) describe(state.State) planning.Description {
	return planning.Description{
		Reason:  v1beta2.ReasonScaling,
		Message: "The operator is adding member " + step.Name + " to the client Service.",
		Requeue: state.RequeueSoon,
	}
}

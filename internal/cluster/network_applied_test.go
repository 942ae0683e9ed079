package cluster

import (
	"errors"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/act"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/objects"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
)

// setPeers sets what each NetworkPolicy allows, as the flag does.
func setPeers(r *Reconciler, peers *objects.NetworkPeers) {
	r.observer.NetworkPeers, r.actor.Objects.NetworkPeers = peers, peers
}

// setPeersOfFlag sets them to those of PeersFlag.
func setPeersOfFlag(t *testing.T, r *Reconciler) {
	t.Helper()
	peers, err := objects.ParseNetworkPeers(clustertest.PeersFlag)
	if err != nil {
		t.Fatal(err)
	}
	setPeers(r, peers)
}

func TestTheNetworkPolicyOfAUserIsNotTakenOver(t *testing.T) {
	users := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
	r, v := beside(t, users)
	setPeersOfFlag(t, r)
	observe := func() {
		t.Helper()
		v.Foreign, v.NetworkPolicy = nil, state.NetworkPolicy{}
		if err := r.observer.ObserveNetworkPolicy(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if observe(); len(v.Foreign) > 0 || v.NetworkPolicy != (state.NetworkPolicy{}) {
		t.Errorf("a policy that the spec does not ask for is reported: %+v", v.Foreign)
	}
	clustertest.Limited(v1beta2.MemberNetworkPolicy{})(&v.State)
	if observe(); !state.IsForeign(v.State, "NetworkPolicy", "example") {
		t.Errorf("foreign objects are %+v", v.Foreign)
	}
	for _, step := range []steps.Step{steps.ApplyNetworkPolicy{}, steps.WithdrawNetworkPolicy{}} {
		if err := r.actor.Act(t.Context(), v, step); !errors.Is(err, view.ErrForeign) {
			t.Errorf("%T: got %v, want a refusal", step, err)
		}
	}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(users), users); err != nil || len(users.Spec.Ingress) > 0 {
		t.Errorf("the user's policy is now %+v, %v", users, err)
	}
}

func TestANetworkPolicyIsCreatedCorrectedAndDeleted(t *testing.T) {
	r, v := beside(t)
	setPeersOfFlag(t, r)
	clustertest.Limited(clustertest.EveryPeer)(&v.State)
	podState := func(want state.NetworkPolicy) {
		t.Helper()
		v.NetworkPolicy = state.NetworkPolicy{}
		if err := r.observer.ObserveNetworkPolicy(t.Context(), v); err != nil || v.NetworkPolicy != want {
			t.Errorf("the policy is %+v, want %+v: %v", v.NetworkPolicy, want, err)
		}
	}
	do := func(step steps.Step) {
		t.Helper()
		if err := r.actor.Act(t.Context(), v, step); err != nil {
			t.Fatal(err)
		}
	}
	podState(state.NetworkPolicy{})
	do(steps.ApplyNetworkPolicy{OpenPeers: true})
	podState(state.NetworkPolicy{Exists: true, Current: true, OpenPeers: true})
	do(steps.ApplyNetworkPolicy{})
	podState(state.NetworkPolicy{Exists: true, Current: true})
	everyone := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example"}}
	if err := r.Client.Patch(t.Context(), everyone, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ingress":[{}]}}`))); err != nil {
		t.Fatal(err)
	}
	podState(state.NetworkPolicy{Exists: true}) // a person has opened it, and not the operator for foreign members
	v.Spec.NetworkPolicy.Ingress = nil
	podState(state.NetworkPolicy{Exists: true})
	do(steps.WithdrawNetworkPolicy{})
	podState(state.NetworkPolicy{})
	setPeers(r, nil)
	podState(state.NetworkPolicy{Unmanaged: true})
	if err := r.actor.Act(t.Context(), v, steps.ApplyNetworkPolicy{}); !errors.Is(err, act.ErrNoPeers) {
		t.Errorf("a policy that does not allow the operator is written: %v", err)
	}
}

// A controller of the network plugin was switched off and left its finalizer. Deleting the policy again in each pass ended all repairs.
func TestAPolicyThatAFinalizerKeepsDoesNotStopTheRepairs(t *testing.T) {
	meta := clustertest.Controlled("uid-example", "example", map[string]string{v1beta2.LabelApp: v1beta2.AppName, v1beta2.LabelCluster: "example"})
	meta.Finalizers = []string{"networking.k8s.aws/resources"}
	r, v := beside(t, &networkingv1.NetworkPolicy{ObjectMeta: meta})
	setPeersOfFlag(t, r)
	v.State = clustertest.State(plantest.Formed, plantest.Members(3), plantest.With(1, plantest.WithoutPod)) // spec.networkPolicy was removed
	var stepCount []steps.Step
	for range 3 {
		v.NetworkPolicy = state.NetworkPolicy{}
		if err := r.observer.ObserveNetworkPolicy(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		step, err := r.planAndAct(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		stepCount = append(stepCount, step)
	}
	if _, withdraws := stepCount[0].(steps.WithdrawNetworkPolicy); !withdraws {
		t.Errorf("the first step is %T", stepCount[0])
	}
	if _, repairs := stepCount[2].(steps.CreateMember); !repairs {
		t.Errorf("the steps are %T", stepCount)
	}
}

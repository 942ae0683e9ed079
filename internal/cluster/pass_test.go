package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/cluster/clustertest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/failure"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/state"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan/steps"
	"github.com/etcd-suite/etcd-operator/internal/cluster/plantest"
	"github.com/etcd-suite/etcd-operator/internal/cluster/pods"
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// Each deletion of a namespace filled the log with errors, so a person searched for a fault that did not exist.
func TestAnEndingNamespaceIsNoError(t *testing.T) {
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, plantest.NameOf(1), clustertest.ErrText("unable to create new content in namespace ns because it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	waits := steps.Wait{Reason: v1beta2.ReasonDeleting}
	for name, test := range map[string]struct {
		step         steps.Step
		act, skipped error
		want         steps.Step
		fails        bool
	}{
		"the step failed":                                             {steps.CreateMember{Name: plantest.NameOf(1)}, ending, nil, waits, false},
		"another step failed":                                         {steps.Done{}, nil, ending, waits, false},
		"another step failed, and this one succeeded":                 {steps.RemoveMember{Name: plantest.NameOf(1)}, nil, ending, steps.RemoveMember{Name: plantest.NameOf(1)}, false},
		"another step failed, and this one failed for another reason": {steps.RemoveMember{Name: plantest.NameOf(1)}, clustertest.ErrText("exceeded quota"), ending, steps.RemoveMember{Name: plantest.NameOf(1)}, true},
	} {
		v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3)), Repeats: &plan.Repeats{}, Waits: &state.Waiting{}, Skipped: test.skipped}
		step, err := failure.WithoutRefusals(v, test.step, test.act)
		if wait, is := step.(steps.Wait); is {
			step = steps.Wait{Reason: wait.Reason}
		}
		if step != test.want || err != nil != test.fails || v.Skipped != nil {
			t.Errorf("%s: %+v, %v, skipped %v", name, step, err, v.Skipped)
		}
	}
}

// A quota that refuses the PodDisruptionBudget must not keep a member from its clients.
func TestAnObjectThatIsRefusedDoesNotStopIndependentRepairs(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	s.Members[1].InService, s.Budget = false, state.Budget{}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: 1}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: plantest.NameOf(1)}}
	applied := 0
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if _, is := object.(*policyv1.PodDisruptionBudget); !is {
				return c.Create(ctx, object, options...)
			}
			applied++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "poddisruptionbudgets"}, s.Name, clustertest.ErrText("exceeded quota"))
		},
	})
	r := assemble(parts{Client: api, APIReader: api})
	v := &view.View{State: s, Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	step, err := r.planAndAct(t.Context(), v)
	if err != nil || step != steps.Step(steps.AddToService{Name: plantest.NameOf(1)}) || applied != 1 {
		t.Fatalf("%d budgets applied, then %+v, %v", applied, step, err)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.Labels[pods.LabelVoter] != "true" {
		t.Errorf("the Pod has labels %v, %v", pod.Labels, err)
	}
	status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
	plan.NoteRefused(&status, failure.RefusalText(v.Skipped), failure.ReasonOf(v, v.Skipped), 1, s.Now)
	ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady)
	if ready.Reason != v1beta2.ReasonObjectRefused || !strings.Contains(ready.Message, "exceeded quota") || !strings.Contains(ready.Message, plantest.NameOf(1)) {
		t.Errorf("Ready is %+v, want the refusal and what was done", ready)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled) {
		t.Error("the status does not say that a person must correct the quota")
	}
}

// What protects data comes before the repairs. An API server that is slow for one of its objects must not hold up all repairs.
func TestNoErrorOfARuleThatProtectsDataStopsTheRepairs(t *testing.T) {
	v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3))}
	slow := apierrors.NewTimeoutError("later", 1)
	for rule, want := range map[string]bool{
		"setRetention": true, "requestGrowth": true, "renewCertificates": true, "certifyUsers": true, "restoreLabels": true, "applyNetworkPolicy": true, "applyBudget": false, "scaleUp": false,
	} {
		if got := failure.Skippable(v, rule, steps.Done{}, slow); got != want {
			t.Errorf("after a timeout of %s, later rules are asked: %t, want %t", rule, got, want)
		}
		if failure.Skippable(v, rule, steps.Done{}, view.ErrBehind) {
			t.Errorf("later rules are asked although the cache is behind for %s", rule)
		}
	}
}

func TestAFailingReadIsReportedInTheStatus(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "example", UID: "uid", Generation: 1}}
	cluster.Spec.Size = 3
	built := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).WithStatusSubresource(cluster).Build()
	api := interceptor.NewClient(built, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, is := list.(*policyv1.PodDisruptionBudgetList); is {
				return apierrors.NewInternalError(clustertest.ErrText("budgets cannot be read"))
			}
			return c.List(ctx, list, options...)
		},
	})
	r, err := New(api, api, events.NewFakeRecorder(9), Options{Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	r.Now = func() time.Time { return plantest.Noon }
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(cluster)}); err == nil {
		t.Error("the pass succeeded")
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, v1beta2.ConditionReady)
	if ready == nil || ready.Reason != v1beta2.ReasonReconcileError || !strings.Contains(ready.Message, "budgets cannot be read") {
		t.Errorf("Ready is %+v", ready)
	}
}

// The status was written after each of the steps of a start, although the next step came at once.
func TestTheStepsOfAStartAreReportedTogether(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*view.View)
		step   steps.Step
		err    error
		first  bool
		later  bool
	}{
		"a step of the start":                       {step: steps.ApplyServices{}, later: true},
		"the first step":                            {step: steps.ApplyServices{}, first: true},
		"a step after a long time without a report": {step: steps.ApplyServices{}, change: func(v *view.View) { v.Now = plantest.Noon.Add(unsaid) }},
		"a step that failed":                        {step: steps.ApplyServices{}, err: errors.New("x")},
		"a step after an object was refused":        {step: steps.ApplyServices{}, change: func(v *view.View) { v.Skipped = errors.New("x") }},
		"a step for a new spec":                     {step: steps.ApplyServices{}, change: func(v *view.View) { v.Cluster.Generation = 2 }},
		"a step that only the status records":       {step: steps.BeginBootstrap{}},
		"a wait":                                    {step: steps.Wait{}},
		"a cluster that has just formed": {step: steps.ApplyServices{}, change: func(v *view.View) {
			v.ClusterID, v.Cluster.Status.Phase = "1", v1beta2.ClusterPhaseCreating
		}, later: true},
		"a cluster that has started": {step: steps.ApplyServices{}, change: func(v *view.View) { v.ClusterID = "1" }},
	} {
		v, reported := &view.View{Cluster: &v1beta2.EtcdCluster{}}, plantest.Noon
		if c.first {
			reported = time.Time{}
		}
		v.Now = plantest.Noon
		if c.change != nil {
			c.change(v)
		}
		if later := saysLater(v, c.step, c.err, reported); later != c.later {
			t.Errorf("%s: left to the next pass: %v, want %v", name, later, c.later)
		}
	}
}

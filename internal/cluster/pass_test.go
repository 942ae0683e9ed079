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
	"github.com/etcd-suite/etcd-operator/internal/cluster/plan"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// Each deletion of a namespace filled the log with errors, so a person searched for a fault that did not exist.
func TestAnEndingNamespaceIsNoError(t *testing.T) {
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, nameOf(1), errText("unable to create new content in namespace ns because it is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	waits := plan.Wait{Reason: v1beta2.ReasonDeleting}
	for name, test := range map[string]struct {
		step         plan.Step
		act, skipped error
		want         plan.Step
		fails        bool
	}{
		"the step failed":                                             {plan.CreateMember{Name: nameOf(1)}, ending, nil, waits, false},
		"another step failed":                                         {plan.Done{}, nil, ending, waits, false},
		"another step failed, and this one succeeded":                 {plan.RemoveMember{Name: nameOf(1)}, nil, ending, plan.RemoveMember{Name: nameOf(1)}, false},
		"another step failed, and this one failed for another reason": {plan.RemoveMember{Name: nameOf(1)}, errText("exceeded quota"), ending, plan.RemoveMember{Name: nameOf(1)}, true},
	} {
		v := &view{State: state(formed, members(3)), known: &remembered{}, skipped: test.skipped}
		step, err := v.withoutRefusals(test.step, test.act)
		if wait, is := step.(plan.Wait); is {
			step = plan.Wait{Reason: wait.Reason}
		}
		if step != test.want || err != nil != test.fails || v.skipped != nil {
			t.Errorf("%s: %+v, %v, skipped %v", name, step, err, v.skipped)
		}
	}
}

// A quota that refuses the PodDisruptionBudget must not keep a member from its clients.
func TestAnObjectThatIsRefusedDoesNotStopIndependentRepairs(t *testing.T) {
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	s := state(formed, members(3))
	s.Members[1].InService, s.Budget = false, plan.Budget{}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: 1}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: nameOf(1)}}
	applied := 0
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(pod).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if _, is := object.(*policyv1.PodDisruptionBudget); !is {
				return c.Create(ctx, object, options...)
			}
			applied++
			return apierrors.NewForbidden(schema.GroupResource{Resource: "poddisruptionbudgets"}, s.Name, errText("exceeded quota"))
		},
	})
	r := &Reconciler{Client: api, APIReader: api}
	v := &view{State: s, cluster: cluster, known: &remembered{}}
	step, err := r.planAndAct(t.Context(), v)
	if err != nil || step != plan.Step(plan.AddToService{Name: nameOf(1)}) || applied != 1 {
		t.Fatalf("%d budgets applied, then %+v, %v", applied, step, err)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil || pod.Labels[labelVoter] != "true" {
		t.Errorf("the Pod has labels %v, %v", pod.Labels, err)
	}
	status := plan.NewStatus(s, step, nil, v1beta2.EtcdClusterStatus{}, 1)
	plan.NoteRefused(&status, refusalText(v.skipped), v.reasonOf(v.skipped), 1, s.Now)
	ready := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionReady)
	if ready.Reason != v1beta2.ReasonObjectRefused || !strings.Contains(ready.Message, "exceeded quota") || !strings.Contains(ready.Message, nameOf(1)) {
		t.Errorf("Ready is %+v, want the refusal and what was done", ready)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta2.ConditionStalled) {
		t.Error("the status does not say that a person must correct the quota")
	}
}

// What protects data comes before the repairs. An API server that is slow for one of its objects must not hold up all repairs.
func TestNoErrorOfARuleThatProtectsDataStopsTheRepairs(t *testing.T) {
	v := &view{State: state(formed, members(3))}
	slow := apierrors.NewTimeoutError("later", 1)
	for rule, want := range map[string]bool{
		"setRetention": true, "requestGrowth": true, "renewCertificates": true, "restoreLabels": true, "applyNetworkPolicy": true, "applyBudget": false, "scaleUp": false,
	} {
		if got := skippable(v, rule, plan.Done{}, slow); got != want {
			t.Errorf("after a timeout of %s, later rules are asked: %t, want %t", rule, got, want)
		}
		if skippable(v, rule, plan.Done{}, errBehind) {
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
				return apierrors.NewInternalError(errText("budgets cannot be read"))
			}
			return c.List(ctx, list, options...)
		},
	})
	r, err := New(api, api, events.NewFakeRecorder(9), Options{Metrics: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	r.Now = func() time.Time { return noon }
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
		change func(*view)
		step   plan.Step
		err    error
		later  bool
	}{
		"a step of the start":                       {step: plan.ApplyServices{}, later: true},
		"the first step":                            {step: plan.ApplyServices{}, change: func(v *view) { v.known.reported = time.Time{} }},
		"a step after a long time without a report": {step: plan.ApplyServices{}, change: func(v *view) { v.Now = noon.Add(unsaid) }},
		"a step that failed":                        {step: plan.ApplyServices{}, err: errors.New("x")},
		"a step after an object was refused":        {step: plan.ApplyServices{}, change: func(v *view) { v.skipped = errors.New("x") }},
		"a step for a new spec":                     {step: plan.ApplyServices{}, change: func(v *view) { v.cluster.Generation = 2 }},
		"a step that only the status records":       {step: plan.BeginBootstrap{}},
		"a wait":                                    {step: plan.Wait{}},
		"a cluster that has just formed": {step: plan.ApplyServices{}, change: func(v *view) {
			v.ClusterID, v.cluster.Status.Phase = "1", v1beta2.ClusterPhaseCreating
		}, later: true},
		"a cluster that has started": {step: plan.ApplyServices{}, change: func(v *view) { v.ClusterID = "1" }},
	} {
		v := &view{cluster: &v1beta2.EtcdCluster{}, known: &remembered{reported: noon}}
		v.Now = noon
		if c.change != nil {
			c.change(v)
		}
		if later := v.saysLater(c.step, c.err); later != c.later {
			t.Errorf("%s: left to the next pass: %v, want %v", name, later, c.later)
		}
	}
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"github.com/etcd-suite/etcd-operator/internal/cluster/view"
	"github.com/etcd-suite/etcd-operator/internal/etcd"
	"github.com/etcd-suite/etcd-operator/internal/operator"
)

// policyDenies is what a ValidatingAdmissionPolicy answers.
func policyDenies(kind, name string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s %q is forbidden: ValidatingAdmissionPolicy 'team' with binding 'all' denied request: the label team is missing", kind, name),
	}}
}

// The words of etcd were dropped, and the status said only that a member is being added, for ever.
func TestWhatEtcdAnswersIsInTheStatusAndStalledAfterAMinute(t *testing.T) {
	s := clustertest.State(plantest.Formed, plantest.Members(3))
	v := &view.View{State: s, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	add := steps.AddLearner{Name: "example-3"}
	refused := fmt.Errorf("add learner http://x at y: %w", errors.Join(etcd.ErrNotYet, rpctypes.ErrUnhealthy))
	for range 2 {
		step, err := failure.WithoutRefusals(v, add, refused)
		wait, is := step.(steps.Wait)
		if err != nil || !is || wait.Stalled {
			t.Fatalf("at first: %+v, %v", step, err)
		}
		v.Waits.Saw(plan.Waits(v.State, step), v.Now)
	}
	v.Now, v.Waiting = v.Now.Add(2*time.Minute), *v.Waits
	step, _ := failure.WithoutRefusals(v, add, refused)
	wait, _ := step.(steps.Wait)
	if !wait.Stalled || wait.Reason != v1beta2.ReasonRefusedByEtcd || !strings.Contains(wait.Message, "etcdserver: unhealthy cluster") || strings.Contains(wait.Message, "\n") {
		t.Errorf("after two minutes: %+v", wait)
	}
}

// denying is an API server with a policy that denies each object of a kind, and the number of attempts.
func denying(t *testing.T, kind string, objects ...client.Object) (client.Client, *int) {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	denied := 0
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if view.KindName(object) != kind {
				return c.Create(ctx, object, options...)
			}
			denied++
			return policyDenies(kind, object.GetName())
		},
	}), &denied
}

// Each attempt was a ReconcileError, and nobody was told that a person must act.
func TestAnObjectThatAPolicyDeniesIsStalledWithThePolicysWords(t *testing.T) {
	s := clustertest.State()
	s.Services = state.Services{HeadlessCurrent: true, ClientExists: true, ClientCurrent: true}
	cluster := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, Generation: 1}}
	api, denied := denying(t, "PersistentVolumeClaim", cluster)
	r := assemble(parts{Client: api, APIReader: api})
	v := &view.View{State: s, Cluster: cluster, Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	step, err := r.planAndAct(t.Context(), v)
	step, err = failure.WithoutRefusals(v, step, err)
	wait, is := step.(steps.Wait)
	if err != nil || !is || !wait.Stalled || wait.Reason != v1beta2.ReasonObjectRefused || *denied == 0 {
		t.Fatalf("%d denied: %T %+v, %v", *denied, step, step, err)
	}
	for _, want := range []string{"PersistentVolumeClaim", "'team'", "the label team is missing", "Correct what the answer names"} {
		if !strings.Contains(wait.Message, want) {
			t.Errorf("the status says %q, want %q", wait.Message, want)
		}
	}
}

// A failure that passes is retried, and reported as stalled only if it lasts.
func TestAFailureThatLastsIsStalled(t *testing.T) {
	v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3)), Repeats: &plan.Repeats{}, Waits: &state.Waiting{}}
	down := apierrors.NewInternalError(clustertest.ErrText("dial the etcd of Kubernetes: connection refused"))
	step, err := failure.WithoutRefusals(v, steps.DeletePod{Name: plantest.NameOf(1)}, down)
	if err == nil {
		t.Fatalf("%T instead of an error", step)
	}
	var f failing
	f.saw(failure.Of(v, step, err), v.Now)
	if f.tooLong(v.Now.Add(plan.FailureLimit - 1)) {
		t.Error("a failure that may pass is stalled at once")
	}
	f.saw(failure.Of(v, step, err), v.Now.Add(plan.FailureLimit))
	if !f.tooLong(v.Now.Add(plan.FailureLimit)) {
		t.Error("a failure that lasts is not stalled")
	}
	status := plan.NewStatus(v.State, step, err, v1beta2.EtcdClusterStatus{}, 1)
	plan.NoteStalled(&status, f.since, 1, v.Now)
	if c := meta.FindStatusCondition(status.Conditions, v1beta2.ConditionStalled); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "connection refused. This has failed since") {
		t.Errorf("Stalled is %+v", c)
	}
	f.saw(nil, v.Now.Add(plan.FailureLimit))
	if f.tooLong(v.Now.Add(plan.FailureLimit)) {
		t.Error("a pass without an error does not end the failure")
	}
}

func TestWhatIsRefusedWhileOthersGoOnHasAReasonOfItsOwn(t *testing.T) {
	v := &view.View{State: clustertest.State(plantest.Formed, plantest.Members(3))}
	for want, err := range map[string]error{
		v1beta2.ReasonObjectRefused:  apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "x", clustertest.ErrText("exceeded quota")),
		v1beta2.ReasonNotOurs:        fmt.Errorf("Service x: %w", view.ErrForeign),
		v1beta2.ReasonReconcileError: apierrors.NewTimeoutError("later", 1),
	} {
		if got := failure.ReasonOf(v, err); got != want {
			t.Errorf("%v has the reason %s, want %s", err, got, want)
		}
	}
}

// A wait that no rule returns must have a limit, too: it is stalled at once, or State.Bounded limits it.
func TestEachWaitOutsideOfThePlanIsStalledOrBounded(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range append(files, below...) {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.ToSlash(path), "plan/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		bounded := map[ast.Node]bool{}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, is := n.(*ast.CallExpr); is {
				if selector, is := call.Fun.(*ast.SelectorExpr); is && selector.Sel.Name == "Bounded" {
					for _, argument := range call.Args {
						bounded[argument] = true
					}
				}
			}
			literal, is := n.(*ast.CompositeLit)
			if !is || len(literal.Elts) == 0 {
				return true
			}
			if selector, is := literal.Type.(*ast.SelectorExpr); !is || selector.Sel.Name != "Wait" {
				return true
			}
			found++
			stalled := false
			for _, element := range literal.Elts {
				pair, _ := element.(*ast.KeyValueExpr)
				key, _ := pair.Key.(*ast.Ident)
				value, _ := pair.Value.(*ast.Ident)
				stalled = stalled || key.Name == "Stalled" && value != nil && value.Name == "true"
			}
			if !stalled && !bounded[literal] {
				t.Errorf("%s has a plan.Wait that may last for ever: set Stalled, or call Bounded with it", path)
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("only %d waits found", found)
	}
}

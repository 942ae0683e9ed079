package kubetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

func TestKubetest(t *testing.T) {
	t.Run("every test has its own namespace", func(t *testing.T) {
		if a, b := kubetest.Namespace(t), kubetest.Namespace(t); a == b {
			t.Errorf("two tests got the namespace %s", a)
		}
	})
	t.Run("the server has the three kinds", func(t *testing.T) {
		got := strings.Fields(kubetest.MustKubectl(t, "", "api-resources", "--api-group="+v1beta2.Group, "-o", "name"))
		if len(got) != 3 {
			t.Errorf("got the kinds %q, want three", got)
		}
	})
	t.Run("the error of kubectl contains its standard error", func(t *testing.T) {
		_, err := kubetest.Kubectl(t, "", "get", "nonsense")
		if err == nil || !strings.Contains(err.Error(), `doesn't have a resource type "nonsense"`) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a manager only watches its namespace, and a second one continues after the first stopped", func(t *testing.T) {
		ours, other := kubetest.Namespace(t), kubetest.Namespace(t)
		stop := kubetest.RunManager(t, ours, annotate("first"))
		kubetest.Create(t, configMap(ours, "a"), configMap(other, "a"))
		awaitValue(t, configMap(ours, "a"), "first")
		stop()
		kubetest.Create(t, configMap(ours, "b"))
		kubetest.RunManager(t, ours, annotate("second"))
		awaitValue(t, configMap(ours, "b"), "second")

		untouched := configMap(other, "a")
		if err := kubetest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(untouched), untouched); err != nil {
			t.Fatal(err)
		}
		if len(untouched.Data) > 0 {
			t.Errorf("the manager changed an object of another namespace: %v", untouched.Data)
		}
	})
	t.Run("AwaitGone returns after an object was deleted", func(t *testing.T) {
		object := configMap(kubetest.Namespace(t), "a")
		kubetest.Create(t, object)
		if err := kubetest.Client(t).Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		kubetest.AwaitGone(t, object)
	})
}

// TestMissingProgramsSkipTestsOrFailThemInCI runs this test binary again without the programs.
func TestMissingProgramsSkipTestsOrFailThemInCI(t *testing.T) {
	for name, test := range map[string]struct{ ci, want string }{
		"without CI the test is skipped": {ci: "", want: "--- SKIP"},
		"with CI=true the test fails":    {ci: "true", want: "--- FAIL"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKubetest$/every", "-test.v")
			cmd.Env = append(os.Environ(), "TEST_BIN="+t.TempDir(), "CI="+test.ci)
			out, _ := cmd.CombinedOutput()
			for _, want := range []string{test.want, "kube-apiserver"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output does not contain %q:\n%s", want, out)
				}
			}
		})
	}
}

// annotate sets up a controller that writes value into ConfigMaps without data.
func annotate(value string) func(context.Context, manager.Manager) error {
	return func(_ context.Context, mgr manager.Manager) error {
		c := mgr.GetClient()
		return ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}).Complete(reconcile.Func(
			func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				var object corev1.ConfigMap
				if err := c.Get(ctx, req.NamespacedName, &object); err != nil || len(object.Data) > 0 {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				object.Data = map[string]string{"by": value}
				return reconcile.Result{}, c.Update(ctx, &object)
			}))
	}
}

func awaitValue(t *testing.T, object *corev1.ConfigMap, want string) {
	t.Helper()
	kubetest.Await(t, object, "hold "+want, func(object *corev1.ConfigMap) bool { return object.Data["by"] == want })
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

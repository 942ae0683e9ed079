package cluster

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// The debug log had the whole spec, and so each password that a user wrote into a variable of a container.
func TestTheDebugLogHasNoValueOfAVariable(t *testing.T) {
	const secret = "literal-of-a-user"
	env := []corev1.EnvVar{{Name: "PASSWORD", Value: secret}}
	p := newPasses(t)
	var cluster v1beta2.EtcdCluster
	if err := p.live.Get(t.Context(), p.key, &cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Spec.Pod.EtcdEnv = env
	cluster.Spec.Pod.Containers = []corev1.Container{{Name: "sidecar", Image: "sidecar:1", Env: env, Args: []string{secret}}}
	cluster.Spec.Pod.InitContainers = []corev1.Container{{Name: "first", Image: "first:1", Env: env}}
	if err := p.live.Update(t.Context(), &cluster); err != nil {
		t.Fatal(err)
	}
	var lines []string
	logger := funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 9})
	for range 5 {
		if _, err := p.Reconcile(log.IntoContext(t.Context(), logger), ctrl.Request{NamespacedName: p.key}); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, `"step":"steps.`) || !strings.Contains(text, `"rule":`) {
		t.Errorf("the debug log does not have the step and its rule:\n%s", text)
	}
	if strings.Contains(text, secret) {
		t.Errorf("the debug log has a value of a variable:\n%s", text)
	}
}

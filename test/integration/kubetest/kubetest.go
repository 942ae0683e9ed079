package kubetest

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Config returns a copy of the administrator's configuration. Set Impersonate on
// it to act as a user with fewer rights.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	return rest.CopyConfig(start(t).config)
}

// Client returns the administrator's client, which has no cache.
func Client(t testing.TB) client.WithWatch {
	t.Helper()
	return start(t).client
}

// Namespace creates a namespace that no other test uses.
func Namespace(t testing.TB) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := Client(t).Create(t.Context(), namespace); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	return namespace.Name
}

// Create creates the objects, and fails the test if the server refuses one.
func Create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := Client(t).Create(t.Context(), object); err != nil {
			t.Fatalf("create %T %s: %v", object, client.ObjectKeyFromObject(object), err)
		}
	}
}

// Kubectl runs the real kubectl as the administrator, with stdin as its standard
// input. The error contains its standard error.
func Kubectl(t testing.TB, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	s := start(t)
	cmd := exec.CommandContext(t.Context(), s.kubectl, args...)
	// Without the caller's environment, kubectl cannot use a plugin, a kuberc or a foreign context.
	cmd.Env = []string{
		"KUBECONFIG=" + s.kubeconfig(), "HOME=" + s.dir, "PATH=/usr/bin:/bin", "TZ=UTC",
		"KUBECACHEDIR=" + filepath.Join(s.dir, "cache"),
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

// MustKubectl is Kubectl, but fails the test if kubectl fails.
func MustKubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, err := Kubectl(t, stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

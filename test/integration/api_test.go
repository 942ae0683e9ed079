package integration

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/test/integration/kubetest"
)

// refused is an object that kube-apiserver refuses for exactly one cause.
type refused struct {
	name string // name of the object; "example" if empty
	spec string // YAML; "" for no spec
	want string // "<field>: <end of the message>"
}

func runRefused(t *testing.T, kind string, table map[string]refused) {
	t.Helper()
	namespace := kubetest.Namespace(t)
	for name, test := range table {
		t.Run("refuses "+name, func(t *testing.T) {
			err := kubetest.Client(t).Create(t.Context(), object(t, kind, namespace, test.name, test.spec))
			wantCause(t, err, test.want)
		})
	}
}

// accepted is an object that kube-apiserver accepts.
type accepted struct{ name, spec string }

func runAccepted(t *testing.T, kind string, table map[string]accepted) {
	t.Helper()
	for name, test := range table {
		t.Run("accepts "+name, func(t *testing.T) {
			kubetest.Create(t, object(t, kind, kubetest.Namespace(t), test.name, test.spec))
		})
	}
}

// object returns an object of one of the suite's kinds with the YAML spec.
func object(t *testing.T, kind, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	if name == "" {
		name = "example"
	}
	content := map[string]any{}
	if spec != "" {
		var fields any
		if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
			t.Fatalf("spec %s: %v", spec, err)
		}
		content["spec"] = fields
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// wantCause checks that err is a refusal with exactly this cause. A user must read
// what to write instead, and no misleading further cause.
func wantCause(t *testing.T, err error, want string) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("got the error %v, want a refusal as invalid: %s", err, want)
	}
	field, message, _ := strings.Cut(want, ": ")
	causes := slices.DeleteFunc(status.ErrStatus.Details.Causes, ofServer)
	if len(causes) != 1 || causes[0].Field != field || !strings.HasSuffix(causes[0].Message, message) {
		t.Errorf("the server refuses the object for these causes:\n%s\nwant only:\n%s", list(causes), want)
	}
}

// ofServer reports whether kube-apiserver added the cause: it skipped CEL rules, or
// the scale subresource cannot show the size.
func ofServer(cause metav1.StatusCause) bool {
	return strings.Contains(cause.Message, "some validation rules were not checked") ||
		strings.Contains(cause.Message, "Checked value must be of type") ||
		cause.Field == ".spec.size"
}

func list(causes []metav1.StatusCause) string {
	lines := make([]string, 0, len(causes))
	for _, cause := range causes {
		lines = append(lines, cause.Field+": "+cause.Message)
	}
	return strings.Join(lines, "\n")
}

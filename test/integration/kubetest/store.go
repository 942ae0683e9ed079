package kubetest

import (
	"bytes"
	"os/exec"
	"path"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/etcd-suite/etcd-operator/test/integration/servers"
)

// Store writes a custom resource or a CRD directly into etcd, without validation by
// kube-apiserver. So it can store an object that an older CRD without a schema
// accepted, or that CRD. resource is the plural name.
func Store(t testing.TB, resource string, object *unstructured.Unstructured) {
	t.Helper()
	s := start(t)
	object = object.DeepCopy()
	object.SetUID(uuid.NewUUID())
	object.SetGeneration(1)
	object.SetCreationTimestamp(metav1.Now())
	text, err := object.MarshalJSON()
	if err != nil {
		t.Fatalf("store %s: %v", object.GetName(), err)
	}
	key := "/registry/" + path.Join(object.GroupVersionKind().Group, resource, object.GetNamespace(), object.GetName())
	cmd := exec.CommandContext(t.Context(), servers.EtcdctlProgram(t, "3.6"), "--endpoints", s.env.ControlPlane.Etcd.URL.String(), "put", key)
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("store %s: %v\n%s", object.GetName(), err, out)
	}
}

package v1beta2

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestAddToScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"EtcdCluster", "EtcdBackup", "EtcdRestore"} {
		for _, kind := range []string{kind, kind + "List"} {
			t.Run("knows "+kind, func(t *testing.T) {
				if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
					t.Error("unknown")
				}
			})
		}
	}
}

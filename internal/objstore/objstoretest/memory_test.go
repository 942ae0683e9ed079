package objstoretest

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func TestTheStoreInTheMemoryKeepsTheContract(t *testing.T) {
	Run(t, func(*testing.T) objstore.Store { return NewMemory() })
}

func TestTheStoreInTheMemoryHasTheFaultsOfRealStores(t *testing.T) {
	m := NewMemory()
	if err := m.Put(t.Context(), "k", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	m.Set("k", Cold|Omitted|Locked)
	if _, err := m.Get(t.Context(), "k"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a cold object: %v", err)
	}
	for object := range m.List(t.Context(), "") {
		t.Errorf("the listing has %s", object.Key)
	}
	if err := m.Delete(t.Context(), "k"); !errors.Is(err, fs.ErrPermission) || !m.Has("k") {
		t.Errorf("a locked object: %v", err)
	}
	if gone, err := objstore.Gone(t.Context(), m, "k"); gone || err == nil {
		t.Errorf("a refusal proves that the object is gone: %v, %v", gone, err)
	}
	m.Set("k", Omitted)
	if gone, err := objstore.Gone(t.Context(), m, "k"); gone || err != nil {
		t.Errorf("a listing proves that the object is gone: %v, %v", gone, err)
	}
	if gone, err := objstore.Gone(t.Context(), m, "other"); !gone || err != nil {
		t.Errorf("a missing object: %v, %v", gone, err)
	}
}

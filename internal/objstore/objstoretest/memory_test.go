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

// Every provider's tests can have these faults, so that a new provider needs no fake of its own.
func TestAStoreOfAnyProviderCanHaveFaults(t *testing.T) {
	plain := NewMemory()
	plain.Place("k", []byte("x"))
	f := NewFaulty(plain)
	f.Set("k", Gone)
	if gone, err := objstore.Gone(t.Context(), f, "k"); !gone || err != nil {
		t.Errorf("an object that another party has deleted: %v, %v", gone, err)
	}
	for object := range f.List(t.Context(), "") {
		t.Errorf("the listing has %s", object.Key)
	}
	f.Set("k", Cold)
	for object := range f.List(t.Context(), "") {
		if !object.Cold {
			t.Errorf("the listing does not show that %s cannot be read", object.Key)
		}
	}
	f.Set("k", Lost)
	if _, err := f.Get(t.Context(), "k"); !errors.Is(err, ErrLost) || objstore.OfObject(err) {
		t.Errorf("a lost object: %v", err)
	}
}

// A killed writer has done its last write, and does not know it.
func TestAKilledWriterLosesTheAnswerToItsLastWrite(t *testing.T) {
	m := NewMemory()
	put := func(key string) error { return m.Put(t.Context(), key, strings.NewReader("x")) }
	m.Kill(2)
	if err := errors.Join(put("a"), put("b")); !errors.Is(err, ErrKilled) || !m.Has("a") || !m.Has("b") {
		t.Errorf("%v, it has %q", err, m.Keys())
	}
	if err := put("c"); !errors.Is(err, ErrKilled) || m.Has("c") || !errors.Is(m.Delete(t.Context(), "a"), ErrKilled) {
		t.Errorf("after it: %v, it has %q", err, m.Keys())
	}
	if m.Kill(-1); put("c") != nil || m.Writes() != 5 {
		t.Errorf("the next writer: it has %q after %d writes", m.Keys(), m.Writes())
	}
}

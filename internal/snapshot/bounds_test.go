package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// huge is a store with objects of that many zeros.
type huge struct {
	objstore.Store
	sizes map[string]int64
}

func (h huge) Get(_ context.Context, key string) (io.ReadCloser, error) {
	size, exists := h.sizes[key]
	if !exists {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(io.LimitReader(zeros{}, size)), nil
}

// An object of any size must take the disk that was reserved for it, and no memory. The operator reads the snapshots of all namespaces.
func TestALargeObjectIsReadInPieces(t *testing.T) {
	const reserved = 64 << 20
	store := huge{sizes: map[string]int64{key: 10 * reserved}}
	room := RoomFunc(func(bytes, _ int64) error {
		if bytes > reserved {
			return spool.ErrOverLimit
		}
		return nil
	})
	heaptest.Bound(t, 16, func() {
		if _, err := Fetch(t.Context(), store, key, Place{Dir: t.TempDir(), Room: room}, nil, Anyone); !errors.Is(err, ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	})
}

func TestALargeObjectIsComparedInPieces(t *testing.T) {
	const size = 640 << 20
	heaptest.Bound(t, 16, func() {
		body := &checkedBody{body: io.LimitReader(zeros{}, size), sum: sha256.New(), manifest: Manifest{Size: size}}
		if n, _ := io.Copy(io.Discard, body); n < size*9/10 {
			t.Errorf("a copy read %d bytes", n)
		}
	})
}

// A manifest of any size in the bucket must not take the memory of the operator.
func TestAnObjectOfTenMiBIsNoManifest(t *testing.T) {
	const mostOfAManifest = 1 << 20
	store := huge{sizes: map[string]int64{ManifestKey(key): 10 * mostOfAManifest, VerdictKey(key, Passed): 10 * mostOfAManifest}}
	heaptest.Bound(t, 8, func() {
		if _, err := readManifest(t.Context(), store, key, Anyone); !errors.Is(err, ErrManifest) {
			t.Errorf("error %v", err)
		}
		if _, err := ReadVerdict(t.Context(), store, key, Passed); err == nil {
			t.Error("ten MiB of zeros are the result of a restore test")
		}
	})
	text := bytes.Repeat([]byte(" "), 10*mostOfAManifest)
	memory := objstoretest.NewMemory()
	if err := memory.Put(t.Context(), ManifestKey(key), strings.NewReader(string(text)+"{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(t.Context(), memory, key, Anyone); !errors.Is(err, ErrManifest) {
		t.Errorf("error %v", err)
	}
}

// Ten times as many names as the operator holds, with the limit that it has in production.
func TestTenTimesTheNamesThatAreHeldTakeBoundedMemory(t *testing.T) {
	store := &endless{format: "folder/ns/example/0000000000000001/a-name-of-some-length-%d.db", most: 10 * maxNames}
	heaptest.Bound(t, 400, func() {
		if _, err := Scan(t.Context(), store, "folder/"); !errors.Is(err, objstore.ErrListing) {
			t.Errorf("error %v", err)
		}
	})
	if store.names > maxNames {
		t.Errorf("%d names were read", store.names)
	}
	store.names = 0
	heaptest.Bound(t, 400, func() {
		if index, err := ScanNewest(t.Context(), store, "folder/"); err != nil || !errors.Is(index.Incomplete, objstore.ErrListing) {
			t.Errorf("error %v, the index: %v", err, index.Incomplete)
		}
	})
	if store.names != 10*maxNames {
		t.Errorf("%d names were read", store.names)
	}
}

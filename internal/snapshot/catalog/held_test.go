package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// crowded is a store with the same content in each object, and with long names before those of one snapshot.
type crowded struct {
	objstore.Store
	content []byte
	names   int
	length  int
}

func (c crowded) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(c.content)), nil
}

func (c crowded) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for i := range c.names {
			name := fmt.Sprintf("folder/%08d", i)
			if !yield(objstore.Object{Key: name + strings.Repeat("x", c.length-len(name)), Size: 1}, nil) {
				return
			}
		}
		own := snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}.Key(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), 5)
		for _, name := range []string{own, snapshot.ManifestKey(own)} {
			if !yield(objstore.Object{Key: name, Size: 1}, nil) {
				return
			}
		}
	}
}

func manifestWith(text string) []byte {
	return fmt.Appendf(nil, `{"formatVersion":1,"size":1,"sha256":"%064d","createdAt":"2026-11-24T12:00:00Z","hash":%[2]q,"tool":%[2]q,"attempt":%[2]q,`+
		`"backup":%[2]q,"recovery":%[2]q,"etcdVersion":%[2]q,"storageVersion":%[2]q,"cluster":{"namespace":%[2]q,"name":%[2]q,"uid":%[2]q,"id":%[2]q},`+
		`"signature":{"key":%[2]q,"value":%[2]q}}`, 0, text)
}

func itemsOf(n int) (items []Item) {
	for i := range n {
		items = append(items, Item{Key: fmt.Sprintf("folder/%d.db", i), Size: 1})
	}
	return items
}

// 1000 manifests that were not too large each had a gigabyte together.
func TestLongTextsOfManifestsTakeNoMemory(t *testing.T) {
	known := Known{}
	heaptest.Bound(t, 64, func() {
		if err := known.Read(t.Context(), crowded{content: manifestWith(strings.Repeat("x", 70_000))}, itemsOf(500), snapshot.Anyone); err != nil {
			t.Error(err)
		}
	})
	for key, reading := range known {
		if !errors.Is(reading.Err, snapshot.ErrManifest) || !strings.Contains(reading.Err.Error(), "is longer than 1024 bytes") || len(reading.Err.Error()) > 1000 {
			t.Fatalf("%s: error %.500v", key, reading.Err)
		}
	}
	known = Known{}
	if err := known.Read(t.Context(), crowded{content: manifestWith(strings.Repeat("x", bounded.MaxText))}, itemsOf(10), snapshot.Anyone); err != nil || known["folder/1.db"].Err != nil {
		t.Errorf("a text that has the maximum: error %v, %v", err, known["folder/1.db"].Err)
	}
}

// Many manifests, of which each is within its bound, must not take the memory, either. What has more than honest ones is refused as a whole.
func TestManyManifestsTakeBoundedMemory(t *testing.T) {
	const items = 10 * maxKnown / (13 << 10)
	known := Known{}
	heaptest.Bound(t, 3*maxKnown>>20, func() {
		err := known.Read(t.Context(), crowded{content: manifestWith(strings.Repeat("x", bounded.MaxText))}, itemsOf(items), snapshot.Anyone)
		if !errors.Is(err, objstore.ErrListing) || len(known) > 0 {
			t.Errorf("%d manifests, error %v", len(known), err)
		}
	})
}

// No provider has names of 1 MiB, but a server that a tenant names may send them. One of them must not end the listing of the others.
func TestLongNamesTakeNoMemoryAndEndNoListing(t *testing.T) {
	store := objstore.Bounded(crowded{names: 500, length: 1 << 20}, objstore.DefaultLimits)
	for name, scan := range map[string]func(context.Context, objstore.Store, string) (Index, error){"Scan": Scan, "ScanNewest": ScanNewest} {
		var index Index
		heaptest.Bound(t, 64, func() {
			var err error
			if index, err = scan(t.Context(), store, "folder/"); err != nil {
				t.Error(err)
			}
		})
		if len(index.Items) != 1 || index.Incomplete != nil {
			t.Errorf("%s: %d snapshots, incomplete: %v", name, len(index.Items), index.Incomplete)
		}
	}
}

// The number of names had a bound, and not their bytes: 500,000 names of 1024 bytes had 490 MiB.
func TestTheLongestNamesTakeBoundedMemory(t *testing.T) {
	store := objstore.Bounded(crowded{names: maxNames, length: objstore.MaxName}, objstore.DefaultLimits)
	heaptest.Bound(t, 300, func() {
		if _, err := Scan(t.Context(), store, "folder/"); !errors.Is(err, objstore.ErrListing) || !strings.Contains(err.Error(), "122 MiB") {
			t.Errorf("error %v", err)
		}
	})
	heaptest.Bound(t, 300, func() {
		if index, err := ScanNewest(t.Context(), store, "folder/"); err != nil || !errors.Is(index.Incomplete, objstore.ErrListing) || len(index.Items) != 1 {
			t.Errorf("error %v, %d snapshots, incomplete: %v", err, len(index.Items), index.Incomplete)
		}
	})
}

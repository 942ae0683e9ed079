package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

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

// endless lists without an end, as a server of a user can. names is how many names it has yielded.
type endless struct {
	objstore.Store
	format string
	names  int
	most   int // 0 for 5000
}

func (e *endless) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for yield(objstore.Object{Key: fmt.Sprintf(e.format, e.names)}, nil) {
			if e.names++; e.names == cmp.Or(e.most, 5000) {
				return
			}
		}
	}
}

// One listing without an end used up the memory of the operator, and ended the backups of all namespaces.
func TestScanEndsAListingWithoutEnd(t *testing.T) {
	defer func(old int) { maxNames = old }(maxNames)
	maxNames = 1000
	store := &endless{format: "folder/%d"}
	if _, err := Scan(t.Context(), store, "folder/"); !errors.Is(err, objstore.ErrListing) || !strings.Contains(err.Error(), "more than 1000 names") || store.names > 1000 {
		t.Errorf("after %d names: %v", store.names, err)
	}
	if index, err := Scan(t.Context(), &endless{format: archives + "ns/a/00000001/20261124/%020d.segment"}, ""); err != nil || len(index.objects) != 0 {
		t.Errorf("%d names of an archive are kept, error %v", len(index.objects), err)
	}
}

// A listing that left out the whole folder took a new snapshot at each attempt, and no restore found one.
func TestScanFindsASeriesInAFolderWithTheNameOfArchives(t *testing.T) {
	for name, series := range map[string]snapshot.Series{
		"a path":      {Folder: "continuous-archive", Namespace: "ns", Cluster: "c", ClusterID: 1},
		"a namespace": {Namespace: "continuous-archive", Cluster: "c", ClusterID: 1},
	} {
		store := objstoretest.NewMemory()
		key := series.Key(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), 5)
		for _, name := range []string{key, snapshot.ManifestKey(key)} {
			if err := store.Put(t.Context(), name, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		if index, err := Scan(t.Context(), store, series.Prefix()); err != nil || len(index.Items) != 1 {
			t.Errorf("%s: %d snapshots, error %v", name, len(index.Items), err)
		}
	}
}

// A series with more names than the operator holds took no snapshot any more.
func TestTheNewestSnapshotsOfALongSeriesAreFound(t *testing.T) {
	defer func(old int) { maxNames = old }(maxNames)
	maxNames = 100
	series := snapshot.Series{Namespace: "ns", Cluster: "c", ClusterID: 1}
	begin := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for _, count := range []int{10, 1000} {
		store := objstoretest.NewMemory()
		put := func(key string) {
			if err := store.Put(t.Context(), key, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		key := ""
		for i := range count {
			key = series.Key(begin.Add(time.Duration(i)*time.Hour), int64(i))
			put(key)
			put(snapshot.ManifestKey(key))
			put(fmt.Sprintf("%szz-foreign-%d", series.Prefix(), i))
		}
		index, err := ScanNewest(t.Context(), store, series.Prefix())
		if err != nil || len(index.Items) < 10 || len(index.Items) > maxNames || index.Items[0].Key != key {
			t.Fatalf("of %d, %d snapshots; error %v", count, len(index.Items), err)
		}
		if long := 3*count > maxNames; errors.Is(index.Incomplete, objstore.ErrListing) != long || (index.Incomplete != nil) != long {
			t.Errorf("of %d snapshots, the index is incomplete: %v", count, index.Incomplete)
		}
	}
}

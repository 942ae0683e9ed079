package catalog_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/snapshottest"
)

// reads counts the objects that are read.
type reads struct {
	snapshottest.Bucket
	count *int
}

func (r reads) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	*r.count++
	return r.Bucket.Get(ctx, key)
}

// The key of a one-shot may be short. To delete its snapshot, the operator must not read the manifests of the whole bucket.
func TestListObjectReadsOnlyTheManifestOfTheObject(t *testing.T) {
	store := snapshottest.NewBucket(t)
	for _, key := range []string{"e", "e2", "etcd/a"} {
		if _, err := save.Snapshot(t.Context(), snapshottest.Request(t, store, snapshottest.Database(t, snapshottest.Member, 3), func(r *save.Request) { r.Key = key })); err != nil {
			t.Fatal(err)
		}
	}
	count := 0
	listing, err := catalog.ListObject(t.Context(), reads{store, &count}, "e")
	if err != nil || len(listing.Snapshots) != 1 || listing.Snapshots[0].Key != "e" || count != 1 {
		t.Errorf("snapshots %v, %d objects were read, error %v", listing.Snapshots, count, err)
	}
}

func TestListReturnsSnapshotsAndLeftovers(t *testing.T) {
	store := snapshottest.NewBucket(t)
	oldest, middle, newest := snapshottest.Entry(snapshottest.Ours, 1, 900), snapshottest.Entry(snapshottest.Ours, 2, 9), snapshottest.Entry(snapshottest.Ours, 3, 10)
	for _, e := range []catalog.Entry{middle, newest, oldest, snapshottest.Entry(snapshot.Series{Folder: "f", Namespace: "ns", Cluster: "example-2", ClusterID: 1}, 9, 1)} {
		store.Commit(e)
	}
	headless, unreadable, newer, short := snapshottest.Entry(snapshottest.Ours, 4, 1), snapshottest.Entry(snapshottest.Ours, 5, 1), snapshottest.Entry(snapshottest.Ours, 6, 1), snapshottest.Entry(snapshottest.Ours, 7, 1)
	store.Commit(headless)
	if err := store.Delete(t.Context(), headless.Key); err != nil {
		t.Fatal(err)
	}
	store.Write(unreadable.Key, []byte("x"))
	store.Write(snapshot.ManifestKey(unreadable.Key), []byte("{"))
	store.Write(newer.Key, []byte("x"))
	store.Write(snapshot.ManifestKey(newer.Key), []byte(`{"formatVersion": 2}`))
	store.Commit(short)
	store.Replace(short.Key, []byte("cut"))
	uncommitted := snapshottest.Entry(snapshottest.Ours, 8, 1)
	store.Write(uncommitted.Key, []byte("x"))
	store.Write(snapshottest.Ours.Prefix()+"readme.txt", []byte("x"))
	store.Write(snapshottest.Ours.Prefix()+"settings.json", []byte("{}"))

	got, err := catalog.List(t.Context(), store, snapshottest.Ours.Prefix())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]catalog.Entry{newest, middle, oldest}, got.Snapshots); diff != "" {
		t.Errorf("snapshots (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]catalog.Entry{headless}, got.Headless); diff != "" {
		t.Errorf("headless (-want +got):\n%s", diff)
	}
	if len(got.Uncommitted) != 1 || got.Uncommitted[0].Key != uncommitted.Key {
		t.Errorf("uncommitted %+v, want %s", got.Uncommitted, uncommitted.Key)
	}
	for e, want := range map[catalog.Entry]error{unreadable: snapshot.ErrManifest, newer: snapshot.ErrNewerFormat, short: snapshot.ErrManifest} {
		if err := got.Unreadable[snapshot.ManifestKey(e.Key)]; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", e.Key, err, want)
		}
	}
	if len(got.Unreadable) != 3 {
		t.Errorf("unreadable %v, want three", got.Unreadable)
	}
	if e, ok := got.Newest(); !ok || e != newest {
		t.Errorf("newest %+v, %v", e, ok)
	}
}

func TestListOfAnEmptyPrefixIsEmpty(t *testing.T) {
	got, err := catalog.List(t.Context(), snapshottest.NewBucket(t), "f/")
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := got.Newest(); ok {
		t.Errorf("newest %+v of nothing", e)
	}
}

func TestListReturnsTheStoresError(t *testing.T) {
	store := snapshottest.NewBucket(t)
	for i := range 20 {
		store.Commit(snapshottest.Entry(snapshottest.Ours, i, 1))
	}
	broken := errors.New("connection reset")
	_, err := catalog.List(t.Context(), failingGets{store, broken}, snapshottest.Ours.Prefix())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "list snapshots") {
		t.Errorf("error %v, want the store's", err)
	}
}

type failingGets struct {
	objstore.Store
	err error
}

func (f failingGets) Get(context.Context, string) (io.ReadCloser, error) { return nil, f.err }

func TestWrittenReturnsOnlyKeysOfThisEtcdBackup(t *testing.T) {
	by := func(attempt string, minutes int) catalog.Entry {
		e := snapshottest.Entry(snapshottest.Ours, minutes, 1)
		e.Manifest.Attempt = attempt
		return e
	}
	listing := catalog.Listing{Snapshots: []catalog.Entry{by("uid/c", 1), by("uid-2/c", 2), by("", 3), by("uid", 4)}, Headless: []catalog.Entry{by("uid/d", 5)}}
	want := []string{by("", 1).Key, snapshot.ManifestKey(by("", 1).Key), by("", 5).Key, snapshot.ManifestKey(by("", 5).Key)}
	if diff := cmp.Diff(want, catalog.Written(listing, "uid")); diff != "" {
		t.Errorf("wrote (-want +got):\n%s", diff)
	}
	if got := catalog.Written(listing, ""); len(got) > 0 {
		t.Errorf("nobody wrote %q", got)
	}
}

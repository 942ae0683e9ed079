package attempt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/backup/queue"
	"github.com/etcd-suite/etcd-operator/internal/backup/state"
	"github.com/etcd-suite/etcd-operator/internal/backup/state/statetest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// archivesOf returns the keys of archives in a store.
func archivesOf(t *testing.T, store objstore.Store) (keys []string) {
	t.Helper()
	for object, err := range store.List(t.Context(), "continuous-archive/") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, object.Key)
	}
	return keys
}

// With deletionPolicy Delete, the copy of the archive would remain in the second location for ever.
func TestTheCopyOfTheArchiveIsDeletedWithItsEtcdBackup(t *testing.T) {
	for name, test := range map[string]struct {
		writer string
		left   int
	}{"its own": {"u", 0}, "that of another EtcdBackup": {"another", 1}} {
		second := opened(t)
		w, o := copyingTo(t, func(first objstore.Store, bucket string) objstore.Store {
			if bucket == "copies" {
				return second
			}
			return first
		})
		start := archive.NewStart(1, 1, archive.Base{Point: archive.Point{Revision: 42, At: statetest.T0}}, "the archive begins")
		start.Writer = test.writer
		key := archive.StartKey(o.CopiedArchive().ArchiveRoot(), 1)
		if err := second.Put(t.Context(), key, objstore.NewMetadata(start.Encode())); err != nil {
			t.Fatal(err)
		}
		o.Kind = state.KindPurge
		if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil {
			t.Fatalf("%s: %+v", name, r.Failure)
		}
		if left := archivesOf(t, second); len(left) != test.left {
			t.Errorf("%s: %q are left, want %d", name, left, test.left)
		}
	}
}

// The policy of the second bucket is from before archives were copied, and allows only the folder of the copies.
func TestASecondBucketThatListsNoArchivesDoesNotHoldTheDeletion(t *testing.T) {
	second := opened(t)
	w, o := copyingTo(t, func(first objstore.Store, bucket string) objstore.Store {
		if bucket == "copies" {
			return folderOnly{Store: second}
		}
		return first
	})
	if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil {
		t.Fatalf("%+v", r.Failure)
	}
	o.Kind = state.KindPurge
	// Its rights were narrowed after an archive was copied. Deletion ended as if nothing were left.
	known := o
	known.CopyHasArchive = true
	if r := w.Run(context.WithoutCancel(t.Context()), known, &queue.Progress{}); r.Failure == nil {
		t.Error("the status shows an archive that cannot be listed, and all counts as deleted")
	}
	if r := w.Run(context.WithoutCancel(t.Context()), o, &queue.Progress{}); r.Failure != nil {
		t.Errorf("%+v", r.Failure)
	}
	for object, err := range second.List(t.Context(), "") {
		if err != nil || strings.HasSuffix(object.Key, ".db") {
			t.Errorf("%s is left, error %v", object.Key, err)
		}
	}
}

// The archive in the second location needs all snapshots of its window, and not only those that maxBackups keeps. Its first object comes after the first
// copy of a snapshot.
func TestTheSecondLocationKeepsTheBasesOfTheCopiedArchive(t *testing.T) {
	second := opened(t)
	w, o := copyingTo(t, func(first objstore.Store, bucket string) objstore.Store {
		if bucket == "copies" {
			return second
		}
		return first
	})
	if r := w.Run(t.Context(), o, &queue.Progress{}); r.Failure != nil {
		t.Fatalf("%+v", r.Failure)
	}
	count := func(store objstore.Store) (n int) {
		for object, err := range store.List(t.Context(), "dir/snap.db/ns/b/") {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(object.Key, ".db") {
				n++
			}
		}
		return n
	}
	if first, copies := count(w.Store), count(second); copies != first || copies < 6 {
		t.Errorf("the second location has %d snapshots, and the first one %d", copies, first)
	}
}

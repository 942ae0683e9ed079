package archiver

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// A lifecycle rule moved the start, or the last segment of a cluster that was idle for long. After the next upgrade of backup-operator nothing was
// archived any more, although the cluster and the store took writes.
func TestAnArchiverContinuesAfterTheEndOfItsTimelineBecameUnreadable(t *testing.T) {
	for name, which := range map[string]func(links []archive.Link) []string{
		"the start":        func([]archive.Link) []string { return []string{archive.StartKey(root, 1)} },
		"the last segment": func(links []archive.Link) []string { return []string{links[len(links)-1].Key} },
		"both": func(links []archive.Link) []string {
			return []string{archive.StartKey(root, 1), links[len(links)-1].Key}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("1", "a")
			b.archived(2)
			b.put("2", "b")
			b.archived(3)
			b.put("3", "c")
			b.archived(4)
			store := objstoretest.NewFaulty(b.store)
			for _, key := range which(b.histories()[0].Links) {
				store.Set(key, objstoretest.Cold)
			}
			b.put("4", "d")
			b.archived(5, func(o *Options) { o.Store = store })
			if n := len(b.histories()); n != 2 || !b.histories()[1].Start.Lost || !slices.Contains(b.reasons(), "timeline 2: "+reasonUnread) {
				t.Errorf("%d timelines, bases for %q", n, b.reasons())
			}
			b.put("5", "e") // and after the next restart it extends timeline 2
			b.archived(6, func(o *Options) { o.Store = store })
			if n := len(b.histories()); n != 2 {
				t.Errorf("%d timelines after another restart, want 2", n)
			}
		})
	}
}

// A user took the right to read away. Each start of the archiver would take a snapshot and begin a timeline that cannot be read either.
func TestAnArchiverBeginsNoTimelineIfTheStoreReturnsNothing(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	store := objstoretest.NewFaulty(b.store)
	store.Set(archive.StartKey(root, 1), objstoretest.Cold)
	for _, link := range b.histories()[0].Links {
		store.Set(link.Key, objstoretest.Cold)
	}
	before := len(b.reasons())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a := New(Options{Cluster: b.cluster, Store: store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now})
	if err := a.Run(ctx); !errors.Is(err, fs.ErrPermission) || len(b.reasons()) != before {
		t.Errorf("error %v, bases for %q", err, b.reasons()[before:])
	}
}

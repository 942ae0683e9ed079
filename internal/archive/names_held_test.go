package archive

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/heaptest"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// long is the root of an archive with the longest names that a store accepts.
var long = Root(strings.Repeat("f", 900), "ns", "name")

// numbered lists that many links, or as many timelines.
type numbered struct {
	objstore.Store
	count     int
	timelines bool
}

func (n numbered) List(context.Context, string) iter.Seq2[objstore.Object, error] {
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	return func(yield func(objstore.Object, error) bool) {
		for i := range n.count {
			key := LinkKey(long, 1, day, int64(i+1))
			if n.timelines {
				key = LinkKey(long, Timeline(i+1), day, 1)
			}
			if !yield(objstore.Object{Key: key, Cold: true}, nil) {
				return
			}
		}
	}
}

// A tenant has several archives with as many names as one may have. Together they took the memory of backup-operator, which restarted again and
// again, and no namespace had backups.
func TestTheNamesOfTenArchivesTakeTheMemoryOfOne(t *testing.T) {
	used := shared(t, 4<<20)
	ctx, _ := objstore.Hold(t.Context(), "stalls")
	others, _ := objstore.Hold(t.Context(), "other")
	for name, store := range map[string]numbered{"links": {count: 40_000}, "timelines": {count: 4_000, timelines: true}} {
		var releases []func()
		var held [][]Names
		// The names of the listings are garbage of 400 MiB, and a collector on a busy machine leaves more of it. So only what is held counts.
		heaptest.Holds(t, 4<<10, func() any {
			for range 10 {
				all, release, err := List(ctx, store, long)
				if err == nil {
					releases, held = append(releases, release), append(held, all)
				} else if !errors.Is(err, objstore.ErrMemory) || !strings.Contains(err.Error(), string(turns.OwnShare)) {
					t.Errorf("%s: %v", name, err)
				}
			}
			return held
		})
		if len(held) != 1 {
			t.Errorf("%s: %d archives fit, want 1", name, len(held))
		}
		if _, release, err := List(others, numbered{count: 5_000}, long); err != nil {
			t.Errorf("another namespace has no share: %v", err)
		} else {
			release()
		}
		for _, release := range releases {
			release()
			release() // twice is harmless
		}
		if used := used(); used != 0 {
			t.Errorf("%s: %d bytes are counted in the end", name, used)
		}
	}
}

// The first archive of a process is empty, and there is nothing to return. That must not end the operator.
func TestAnEmptyArchiveReturnsNothing(t *testing.T) {
	shared(t, 1<<20)
	all, release, err := List(t.Context(), numbered{}, long)
	if err != nil || len(all) > 0 {
		t.Fatalf("%v, error %v", all, err)
	}
	release()
}

// The memory is small in this test, so that it takes less than a second.
func shared(t *testing.T, bytes int64) (used func() int64) {
	t.Helper()
	used, restore := objstore.ReplaceMemory(bytes)
	t.Cleanup(restore)
	return used
}

// As many names as one archive may have must fit into the share of one namespace. Otherwise such an archive is never pruned.
func TestTheLargestArchiveFitsIntoTheShareOfANamespace(t *testing.T) {
	_, held := objstore.Hold(t.Context(), "ns")
	defer held.Release()
	if err := held.Add(NamesBytes(maxNames) + timelineBytes); err != nil {
		t.Errorf("one archive: %v", err)
	}
	if err := held.Add(int64(objstore.MaxNames) / 2 * (objstore.NameBytes + 100)); err != nil {
		t.Errorf("a folder of half as many snapshots as one listing may have, beside it: %v", err)
	}
	const count = 200_000
	// The names of the listing are garbage, and a collector on a busy machine leaves more of it. So only what is held counts.
	heaptest.Holds(t, count*nameBytes>>10, func() any {
		all, release, err := List(t.Context(), numbered{count: count}, long)
		if err != nil || len(all) != 1 || len(all[0].Links) != count || all[0].Links[count-1].Key(long) != LinkKey(long, 1, time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), count) {
			t.Fatalf("%d timelines, error %v", len(all), err)
		}
		release()
		return all
	})
}

// A search and a survey that fail held their names until backup-operator ended.
func TestEachWayThroughAnArchiveReturnsItsMemory(t *testing.T) {
	used := shared(t, 64<<20)
	first := base(10, 10)
	h := newHistory(1, first).segment(20).segment(30)
	whole := storing(h.History)
	broken := failing{whole, map[string]error{}} // one object alone would be passed over
	for _, key := range whole.Keys() {
		broken.errs[key] = fs.ErrPermission
	}
	for name, store := range map[string]objstore.Store{"whole": whole, "broken": broken} {
		for way, run := range map[string]func() error{
			"find": func() error {
				ctx, held := objstore.Hold(t.Context(), "ns")
				defer held.Release()
				_, err := Find(ctx, store, root, []Base{first}, Progress{}, Target{Revision: 25})
				return err
			},
			"read": func() error { _, err := Read(t.Context(), store, root); return err },
			"look": func() error {
				ctx, held := objstore.Hold(t.Context(), "ns")
				defer held.Release()
				survey, err := Look(ctx, store, root, []Base{first}, 10)
				survey.Drop()
				if survey.Names != nil || survey.Starts != nil {
					t.Error("the survey still has names")
				}
				return err
			},
		} {
			if err := run(); (err != nil) != (name == "broken") {
				t.Errorf("%s, %s: %v", name, way, err)
			}
			if used := used(); used != 0 {
				t.Errorf("%s, %s: %d bytes are counted in the end", name, way, used)
			}
		}
	}
}

// A key that is not exactly restored from its name would be asked for in vain, or another object would be deleted.
func TestANameHasTheKeyThatItWasReadFrom(t *testing.T) {
	for _, key := range []string{
		StartKey(root, 3), LinkKey(root, 1, time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC), 7), LinkKey(root, 1<<60, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), 1<<62),
		LinkKey(root, 2, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), 1), LinkKey(root, 2, time.Date(1969, 12, 31, 12, 0, 0, 0, time.UTC), 1),
	} {
		if n, ok := ParseKey(root, key); !ok || n.Key(root) != key {
			t.Errorf("%s became %s", key, n.Key(root))
		}
	}
}

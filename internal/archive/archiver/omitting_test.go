package archiver

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// omitting is a store whose listings omit some objects that it has.
type omitting struct {
	objstore.Store
	omitted func(key string) bool
	absent  bool // it also says that these objects do not exist
}

func (l *omitting) omits(key string) bool {
	return l.omitted != nil && l.omitted(key)
}

func (l *omitting) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return objstore.Matching(l.Store.List(ctx, prefix), func(o objstore.Object) bool { return !l.omits(o.Key) })
}

func (l *omitting) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if l.absent && l.omits(key) {
		return nil, fmt.Errorf("get %s: %w", key, fs.ErrNotExist)
	}
	return l.Store.Get(ctx, key)
}

// A listing omitted an object for a moment. The archiver ended its timeline and began another one: a base snapshot more, and the window of the
// user had a break at that point.
func TestAListingThatOmitsAnObjectEndsNoTimeline(t *testing.T) {
	for name, omits := range map[string]func(links []archive.Link) func(string) bool{
		"the start": func([]archive.Link) func(string) bool {
			return func(key string) bool { return key == archive.StartKey(root, 1) }
		},
		"the whole archive": func([]archive.Link) func(string) bool {
			return func(key string) bool { return strings.HasPrefix(key, root) }
		},
		"the last segment": func(links []archive.Link) func(string) bool {
			return func(key string) bool { return key == links[len(links)-1].Key }
		},
		"all segments": func([]archive.Link) func(string) bool {
			return func(key string) bool { return strings.HasSuffix(key, ".segment") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("1", "a")
			for revision := int64(2); revision < 5; revision++ {
				b.archived(revision)
				b.put("2", "b")
			}
			store := &omitting{Store: b.store, omitted: omits(b.histories()[0].Links)}
			b.archived(5, func(o *Options) { o.Store = store })
			b.wantEvents()
			if n := len(b.histories()); n != 1 || len(b.reasons()) != 1 {
				t.Errorf("%d timelines, bases for %q", n, b.reasons())
			}
		})
	}
}

// The next timeline was omitted, too. The archiver extended the one before it, which the cluster had left.
func TestAListingThatOmitsTheNewestTimelineExtendsNoOlderOne(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	b.change(func() { b.id = 0xdef })
	b.put("2", "b")
	b.archived(3)
	b.put("3", "c")
	store := &omitting{Store: b.store, omitted: func(key string) bool { return strings.HasPrefix(key, root+"00000002/") }}
	b.archived(4, func(o *Options) { o.Store = store })
	b.wantEvents()
	if n := len(b.histories()); n != 2 {
		t.Errorf("%d timelines, want 2", n)
	}
}

// A store that returns nothing of what it has stored. The archiver asked for a snapshot, found that the timeline exists, and began again at once,
// thousands of times a second. The status showed no error.
func TestAnArchiverThatBeginsAgainAndAgainEndsWithAnError(t *testing.T) {
	b := newBench(t)
	b.put("1", "a")
	b.archived(2)
	store := &omitting{Store: b.store, absent: true, omitted: func(key string) bool { return strings.HasPrefix(key, root) }}
	before := len(b.reasons())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a := New(Options{Cluster: b.cluster, Store: store, Root: root, Dir: t.TempDir(), TakeBase: b.takeBase, Now: time.Now})
	err := a.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "timeline 1") || !strings.Contains(err.Error(), "exists") {
		t.Errorf("error %v, want one that names what the store has and does not return", err)
	}
	if bases := b.reasons()[before:]; len(bases) > 5 || !slices.Contains(bases, "timeline 1: "+reasonFirst) {
		t.Errorf("%d bases: %.200q", len(bases), bases)
	}
}

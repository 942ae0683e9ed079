package follower

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// A lifecycle rule of the second bucket has moved old objects into an archive class, so the store refuses to return them. The new changes are still copied: the
// next timeline, or a person who has the objects restored, makes them restorable.
func TestObjectsThatTheSecondLocationDoesNotReturnStopNoCopy(t *testing.T) {
	for name, cold := range map[string]func(keys []string) []string{
		"the start": func([]string) []string { return []string{archive.StartKey(second, 1)} },
		"the start and all links": func(keys []string) []string {
			return append(keys, archive.StartKey(second, 1))
		},
	} {
		b := newBench(t)
		b.begin(1, 10)
		keys := b.segments(4)
		b.sync()
		for i, key := range keys {
			keys[i] = second + strings.TrimPrefix(key, first)
		}
		for _, key := range cold(keys) {
			b.to.refused[key] = fs.ErrPermission
		}
		for _, restarted := range []bool{false, true} {
			if restarted {
				b.restart()
			}
			if _, err := b.Sync(t.Context(), Floor{}); err != nil {
				t.Errorf("%s, restarted %t, nothing is new: %v", name, restarted, err)
			}
			b.segments(1)
			if _, err := b.Sync(t.Context(), Floor{}); err != nil {
				t.Errorf("%s, restarted %t: %v", name, restarted, err)
			}
		}
		if n := len(b.to.written); n != 7 {
			t.Errorf("%s: %d objects are copied, want 7", name, n)
		}
	}
}

// The first location was emptied, so the archive begins with timeline 1 again. The start of the archive before is in an archive class of the second location, so
// it could not be compared. The links of the new archive were put among those of the old one, and no replay leads to them.
func TestAnArchiveThatBeginsAgainIsNotCopiedBelowAStartThatCannotBeCompared(t *testing.T) {
	b := newBench(t)
	b.begin(1, 10)
	b.segments(4)
	b.sync()
	b.to.refused[archive.StartKey(second, 1)] = fs.ErrPermission
	written := len(b.to.written)
	names, _ := content(t, b.from.Store, first)
	for _, name := range names {
		if err := b.from.Delete(t.Context(), first+name); err != nil {
			t.Fatal(err)
		}
	}
	b.restart()
	b.begin(1, 100)
	b.segments(4)
	if _, err := b.Sync(t.Context(), Floor{}); !errors.Is(err, ErrOtherCopy) || len(b.to.written) > written {
		t.Errorf("%d links of another archive are copied below the old start: %v", len(b.to.written)-written, err)
	}
}

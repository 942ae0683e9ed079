package follower

import (
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
			if _, err := b.Sync(t.Context(), archive.Floor{}); err != nil {
				t.Errorf("%s, restarted %t, nothing is new: %v", name, restarted, err)
			}
			b.segments(1)
			if _, err := b.Sync(t.Context(), archive.Floor{}); err != nil {
				t.Errorf("%s, restarted %t: %v", name, restarted, err)
			}
		}
		if n := len(b.to.written); n != 7 {
			t.Errorf("%s: %d objects are copied, want 7", name, n)
		}
	}
}

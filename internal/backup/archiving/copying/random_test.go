package copying

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// live does one thing of many.
func (h *copiedHistory) live() {
	h.At = h.At.Add(time.Duration(1+h.IntN(20)) * time.Minute)
	switch h.IntN(12) {
	case 0, 1, 2, 3:
		h.segment()
	case 4:
		h.take([]snapshot.Result{"", "", snapshot.Passed, snapshot.Failed}[h.IntN(4)])
		h.note("snapshot at %d", h.revision)
	case 5:
		if h.IntN(2) == 0 {
			h.begin()
		}
	case 6:
		h.settle() // otherwise the second location may be down for longer than the window
		h.retain(h.Memory, h.O, true)
	case 7:
		h.copySnapshots()
	case 8:
		h.restart()
	case 9:
		h.fault()
	default:
		h.step()
	}
}

// An archive lives for a day with snapshots, timelines and retention, while both locations have faults and wrong clocks, and the follower restarts. At the end, each
// revision of the window that the first location reaches is reached in the second one, too, in the same timeline. Nothing is written again and again.
func TestACopyReachesWhatTheFirstLocationReaches(t *testing.T) {
	points := 0
	for seed := range uint64(30) {
		h := newCopiedHistory(t, seed)
		for range 60 {
			h.live()
		}
		h.settle()
		h.At = h.At.Add(2 * time.Hour)
		h.retain(h.Memory, h.O, true)
		h.settle()
		first, second := h.reached(h.Memory, h.O), h.reached(h.second, h.O.CopiedArchive())
		for revision, want := range first {
			if got := second[revision]; got != want && !h.at[revision].Before(h.newest.Add(-h.O.Keep.Window)) {
				t.Fatalf("seed %d: revision %d is reached in %q, and in the second location in %q:\n%s", seed, revision, want, got, strings.Join(h.log, "\n"))
			}
		}
		before := h.puts
		if h.settle(); h.puts > before {
			t.Fatalf("seed %d: %d objects were written again:\n%s", seed, h.puts-before, strings.Join(h.log, "\n"))
		}
		points += len(first)
	}
	if points < 200 {
		t.Errorf("only %d points were compared", points)
	}
}

package archive

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// rolledBack returns two or three timelines that repeat revisions with other data, without any known recovery, and the timeline of each snapshot.
// The clock of the operator was ahead by skew seconds in the first one.
func rolledBack(random *rand.Rand, skew int) (histories []History, bases []Base, owner map[string]Timeline) {
	owner = map[string]Timeline{}
	revision, shift := int64(10), 0
	for t := range 2 + random.IntN(2) {
		add := func(r int64, seconds int) Base {
			b := base(r, seconds)
			b.Captured, b.Stored = true, at(seconds)
			b.Key = fmt.Sprintf("t%d-%d-%d", t+1, r, len(bases))
			owner[b.Key] = Timeline(t + 1)
			bases = append(bases, b)
			return b
		}
		clock := 0
		if t == 0 {
			clock = skew
		}
		h := newHistory(Timeline(t+1), add(revision, int(revision)+shift))
		h.shift = shift + clock
		for range 2 + random.IntN(8) {
			last := h.chain.Last + 1 + random.Int64N(6)
			if random.IntN(8) == 0 {
				h.gap(add(last, int(last)+shift+clock))
			} else {
				h.segment(last)
			}
			if random.IntN(2) == 0 {
				add(h.chain.Last-random.Int64N(2), int(h.chain.Last)+shift)
			}
		}
		end := int(h.chain.Last) + shift
		revision = max(2, h.chain.Last-random.Int64N(30)+5)
		shift = end + 200 - int(revision)
		histories = append(histories, h.History)
	}
	return histories, bases, owner
}

// faulted gives some objects a fault: they are in an archive class, lost, refused or deleted.
func faulted(random *rand.Rand, histories []History, memory *objstoretest.Memory) refusing {
	store := refusing{memory, map[string]bool{}}
	fault := func(key string, of int) {
		switch random.IntN(of) {
		case 0:
			memory.Set(key, objstoretest.Cold)
		case 1:
			memory.Set(key, objstoretest.Lost)
		case 2:
			store.keys[key] = true
		case 3:
			memory.Set(key, objstoretest.Gone)
		}
	}
	for _, h := range histories {
		fault(StartKey(root, h.Start.Timeline), 12)
		for _, link := range h.Links {
			fault(link.Key, 40)
		}
	}
	return store
}

// inside reports whether an error is of a segment in the middle of a range. A survey reads few headers, so it knows of such a segment only if the
// listing says that it is cold.
func inside(r Range, err error) bool {
	var of *linkError
	if !errors.As(err, &of) {
		return false
	}
	link, _ := ParseKey(root, of.key)
	return link.timeline == r.Timeline && r.From.Revision < link.first && link.first <= r.To.Revision
}

// Each revision that the status lists can be restored, and no restore mixes two histories, whichever objects cannot be read.
func TestNoRandomFaultOfAStartOrASegmentMixesHistories(t *testing.T) {
	for _, skew := range []int{0, 10_000} {
		for _, seed := range seedsOfFaults {
			random := rand.New(rand.NewPCG(seed, 77))
			histories, bases, owner := rolledBack(random, skew)
			store := faulted(random, histories, received(time.Duration(skew)*time.Second, histories...))
			survey, err := Look(t.Context(), store, root, bases, 1000)
			if err != nil {
				continue
			}
			for _, r := range survey.Ranges {
				for revision := r.From.Revision; revision <= r.To.Revision; revision++ {
					if hidden(r.Hidden, revision) {
						continue
					}
					_, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: revision})
					if err != nil && !inside(r, err) {
						t.Errorf("skew %d seed %d: revision %d of timeline %d is listed: %v", skew, seed, revision, r.Timeline, err)
					}
				}
			}
			for revision := int64(2); revision < 100; revision += 3 {
				for _, target := range []Target{{Revision: revision}, {Time: at(int(revision) * 5)}} {
					c, err := Find(t.Context(), store, root, bases, Progress{}, target)
					if err == nil && owner[c.Base.Key] != c.Timeline && len(c.Links) > 0 {
						t.Errorf("skew %d seed %d: %s: the snapshot %s with %d segments of timeline %d", skew, seed, target, c.Base.Key, len(c.Links), c.Timeline)
					}
				}
			}
		}
	}
}

var seedsOfFaults = []uint64{1, 5, 11, 30}

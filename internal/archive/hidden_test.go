package archive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/etcd"
)

// repeatedTimelines are two to four timelines that repeat revisions with other data, as after recoveries of a lost quorum, or after restores, which
// have another cluster ID. Some have no base that can be used, or none before a later one. Some clusters have snapshots of what was not archived,
// and the last one may not be archived at all. Some snapshots can be no bases.
func repeatedTimelines(random *rand.Rand) (histories []History, bases []Base, seen []Seen) {
	last, shift, id, recovery := int64(40), 0, etcd.ID(0xabc), ""
	snapshot := func(revision int64) {
		b := base(revision, int(revision)+shift)
		b.ClusterID, b.Recovery, b.Key = id.String(), recovery, fmt.Sprintf("snapshot-%d", len(bases)+len(seen))
		if random.IntN(3) == 0 {
			seen = append(seen, b.Seen())
			return
		}
		bases = append(bases, b)
	}
	next := func(t int) {
		if random.IntN(2) == 0 {
			id++
		} else if random.IntN(2) == 0 {
			recovery = fmt.Sprint("recovery-", t)
		}
	}
	for t := range 2 + random.IntN(3) {
		next(t)
		from := 2 + random.Int64N(last)
		begins := base(from, int(from)+shift)
		begins.ClusterID, begins.Recovery = id.String(), recovery
		h := newHistory(Timeline(t+1), begins)
		h.Start = NewStart(Timeline(t+1), uint64(id), begins, "test")
		h.Start.Recovery = recovery
		h.chain, h.shift = h.Start.Chain(), shift
		for range 2 + random.IntN(6) {
			h.segment(h.chain.Last + 1 + random.Int64N(6))
		}
		if random.IntN(3) > 0 {
			bases = append(bases, begins)
		}
		if random.IntN(3) > 0 {
			snapshot(from + random.Int64N(h.chain.Last-from+1))
		}
		if random.IntN(3) == 0 {
			snapshot(h.chain.Last + 1 + random.Int64N(20))
		}
		last, shift = h.chain.Last, shift+200
		histories = append(histories, h.History)
	}
	if random.IntN(3) == 0 {
		next(len(histories))
		snapshot(2 + random.Int64N(last))
		snapshot(2 + random.Int64N(last))
	}
	return histories, bases, seen
}

// kubectl etcd and a person choose a revision from status.recoverable. A restore of it was refused, because a newer timeline had it and cannot be
// replayed from there.
func TestEachRevisionThatIsReportedCanBeRestored(t *testing.T) {
	shown, hidden := 0, 0
	for seed := range uint64(60) {
		histories, bases, seen := repeatedTimelines(rand.New(rand.NewPCG(seed, 5)))
		store := storing(histories...)
		survey, err := Look(t.Context(), store, root, bases, 100, seen...)
		if err != nil {
			t.Fatal(err)
		}
		for kind, ranges := range map[string][]Range{"Look": survey.Ranges, "Recoverable": Recoverable(histories, bases, seen...)} {
			for _, r := range ranges {
				for revision := r.From.Revision; revision <= r.To.Revision; revision++ {
					c, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: revision}, seen...)
					if slices.ContainsFunc(r.Hidden, func(h Revisions) bool { return h.First <= revision && revision <= h.Last }) {
						hidden++
						if err == nil && c.Timeline == r.Timeline {
							t.Fatalf("seed %d, %s: revision %d of timeline %d is reported as hidden, and restored", seed, kind, revision, r.Timeline)
						}
						continue
					}
					if shown++; err != nil || c.Timeline != r.Timeline {
						t.Fatalf("seed %d, %s: revision %d of timeline %d is reported: timeline %d, %v", seed, kind, revision, r.Timeline, c.Timeline, err)
					}
				}
			}
		}
	}
	if shown < 500 || hidden < 200 {
		t.Errorf("%d revisions are reported and %d hidden: the test has too few of one kind", shown, hidden)
	}
}

// A status has a limit. What is between the last parts counts as hidden then, because a refusal is worse than a point that is not offered.
func TestManyHiddenPartsOfARangeAreJoined(t *testing.T) {
	r := Range{From: Point{Revision: 1}, To: Point{Revision: 1000}}
	var newer []Revisions
	for n := range int64(maxHidden + 5) {
		newer = append(newer, Revisions{10 * (n + 1), 10*(n+1) + 2})
	}
	slices.Reverse(newer)
	got := r.hiding(newer).Hidden
	if len(got) != maxHidden || got[0] != (Revisions{10, 12}) || got[maxHidden-1] != (Revisions{10 * maxHidden, 10*(maxHidden+5) + 2}) {
		t.Errorf("%v", got)
	}
}

package archive

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/objstoretest"
)

// The status listed points that no restore could reach, because segments in the middle were deleted, or a lifecycle rule had moved them to a storage
// class that cannot be read. The user detected that on the day of the restore.
func TestARangeEndsAtASegmentThatIsMissingOrCannotBeRead(t *testing.T) {
	bases := []Base{base(10, 10), base(35, 35)}
	whole := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40).segment(50)
	for name, test := range map[string]struct {
		missing, cold []int
		ranges        string
		covered       bool
		holes         []string
	}{
		"all can be read":             {nil, nil, "10-50", true, nil},
		"one is missing":              {[]int{1}, nil, "10-20 35-50", true, []string{"the segments of the revisions 21 to 30 of timeline 1 are missing"}},
		"one is cold":                 {nil, []int{1}, "10-20 35-50", true, []string{"the revisions 21 to 30 of timeline 1 are in a storage class that cannot be read, beginning with " + whole.Links[1].Key}},
		"two are cold":                {nil, []int{0, 1}, "35-50", true, []string{"11 to 30"}},
		"one that the base needs":     {[]int{2}, nil, "10-30", false, []string{"31 to 40"}},
		"the newest is cold":          {nil, []int{3}, "10-40", false, []string{"the revisions after 40 of timeline 1 are in a storage class"}},
		"one is missing, one cold":    {[]int{1}, []int{2}, "10-20", false, []string{"21 to 40"}},
		"the oldest ones were pruned": {[]int{0, 1}, nil, "35-50", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			store := storing(whole.History)
			for _, i := range test.missing {
				store.Set(whole.Links[i].Key, objstoretest.Gone)
			}
			for _, i := range test.cold {
				store.Set(whole.Links[i].Key, objstoretest.Cold)
			}
			survey, err := Look(t.Context(), store, root, bases, 10)
			if err != nil {
				t.Fatal(err)
			}
			var ranges []string
			for _, r := range survey.Ranges {
				ranges = append(ranges, fmt.Sprintf("%d-%d", r.From.Revision, r.To.Revision))
			}
			if got := strings.Join(ranges, " "); got != test.ranges || survey.Covered != test.covered {
				t.Errorf("ranges %s, the end is covered: %t, want %s, %t", got, survey.Covered, test.ranges, test.covered)
			}
			if len(survey.Holes) != len(test.holes) {
				t.Fatalf("holes %v, want %q", survey.Holes, test.holes)
			}
			for i, hole := range survey.Holes {
				if !strings.Contains(hole.String(), test.holes[i]) {
					t.Errorf("hole %q, want %q", hole, test.holes[i])
				}
			}
		})
	}
}

// A segment that somebody has restored for some days is listed with its storage class, and can be read.
func TestACopyThatWasRestoredForSomeDaysIsNoHole(t *testing.T) {
	h := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40)
	store := storing(h.History)
	survey, err := Look(t.Context(), restored{store, map[string]bool{h.Links[0].Key: true, h.Links[1].Key: true}}, root, []Base{base(10, 10)}, 10)
	if err != nil || len(survey.Ranges) != 1 || survey.Ranges[0].To.Revision != 40 || len(survey.Holes) != 0 {
		t.Errorf("ranges %v, holes %v, error %v", survey.Ranges, survey.Holes, err)
	}
}

// restored lists objects as cold that can be read.
type restored struct {
	*objstoretest.Memory
	class map[string]bool
}

func (r restored) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for object, err := range r.Memory.List(ctx, prefix) {
			object.Cold = r.class[object.Key]
			if !yield(object, err) {
				return
			}
		}
	}
}

// Each revision in a range can be restored, whatever segments are missing or cold. And no revision that can be restored is left out.
func TestEachRevisionOfASurveyCanBeRestored(t *testing.T) {
	holes := 0
	for seed := range uint64(80) {
		random := rand.New(rand.NewPCG(seed, 33))
		histories, bases := randomTimelines(random)
		store := storing(histories...)
		for _, h := range histories {
			for _, link := range h.Links {
				switch random.IntN(8) {
				case 0:
					store.Set(link.Key, objstoretest.Gone)
				case 1:
					store.Set(link.Key, objstoretest.Cold)
				}
			}
		}
		survey, err := Look(t.Context(), store, root, bases, 1000)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		holes += len(survey.Holes)
		for _, h := range histories {
			last := h.Start.Base.Revision
			if n := len(h.Links); n > 0 {
				last = h.Links[n-1].Header.Last
			}
			for revision := h.Start.Base.Revision; revision <= last; revision++ {
				choice, err := Find(t.Context(), store, root, bases, Progress{}, Target{Revision: revision})
				found := err == nil && choice.Timeline == h.Start.Timeline
				listed := within(survey.Ranges, h.Start.Timeline, revision)
				alone := found && len(choice.Links) == 0 // the snapshot itself
				later := err == nil && choice.Timeline > h.Start.Timeline
				if listed && !found && !later || found && !listed && !alone {
					t.Fatalf("seed %d: revision %d of timeline %d is listed: %t; a restore: %+v, %v\nranges %v\nholes %v", seed, revision, h.Start.Timeline, listed,
						keysOf(choice), err, survey.Ranges, survey.Holes)
				}
			}
		}
	}
	if holes < 80 {
		t.Errorf("only %d holes: the test has too few", holes)
	}
}

// A survey must not read each header to find what is missing: a week may have 120,000 segments.
func TestAHoleIsFoundWithFewReads(t *testing.T) {
	h := newHistory(1, base(10, 10))
	for last := int64(11); last < 2000; last++ {
		h.segment(last)
	}
	store := storing(h.History)
	if survey, err := Look(t.Context(), store, root, []Base{base(10, 10)}, 10); err != nil || len(survey.Holes) != 0 || store.Reads() > 5 {
		t.Errorf("%d reads, holes %v, error %v", store.Reads(), survey.Holes, err)
	}
	store.Set(h.Links[700].Key, objstoretest.Gone)
	before := store.Reads()
	survey, err := Look(t.Context(), store, root, []Base{base(10, 10)}, 10)
	if err != nil || len(survey.Holes) != 1 || survey.Holes[0].First != 711 || store.Reads()-before > 30 {
		t.Errorf("%d reads, holes %v, error %v", store.Reads()-before, survey.Holes, err)
	}
}

// Earlier versions wrote no numbers. Their segments count as complete, as before, and the first one with a number may follow them.
func TestSegmentsOfEarlierVersionsAreNoHole(t *testing.T) {
	h := newHistory(1, base(10, 10)).segment(20).segment(30)
	for i := range h.Links {
		h.Links[i].Header.Number = 0
	}
	h.chain.Number = 0
	h.segment(40).segment(50).segment(60)
	for missing, want := range map[int]int{-1: 0, 1: 1, 2: 1, 3: 1} {
		store := storing(h.History)
		if missing > 0 {
			store.Set(h.Links[missing].Key, objstoretest.Gone)
		}
		survey, err := Look(t.Context(), store, root, []Base{base(10, 10)}, 10)
		if err != nil || len(survey.Holes) != want {
			t.Errorf("without segment %d: holes %v, error %v, want %d", missing, survey.Holes, err, want)
		}
	}
}

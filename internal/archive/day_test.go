package archive

import (
	"testing"
)

// With the least maxLag, an import or a few busy clients make more segments in a day than the operator holds the names of. A restore to a time of that
// day was refused because the listing is too long, while a restore to the day before worked. The user lost the changes of that day.
func TestATimeIsFoundInADayWithMoreNamesThanAreHeld(t *testing.T) {
	h := newHistory(1, base(1, 1))
	bases := []Base{base(1, 1)}
	for r := int64(2); r <= 3000; r++ {
		h.segment(r)
		if r%50 == 0 {
			bases = append(bases, base(r, int(r)))
		}
	}
	store := storing(h.History)
	lessHeld(t, 400)
	for _, target := range []int{1, 2, 60, 777, 1500, 2222, 2999} {
		choice, err := Find(t.Context(), store, root, bases, Progress{}, Target{Time: at(target)})
		if err != nil || choice.Reached.Revision != int64(target) || len(choice.Links) > 50 {
			t.Errorf("second %d: revision %d with %d segments: %v", target, choice.Reached.Revision, len(choice.Links), err)
		}
	}
	reads := store.Reads()
	if _, err := Find(t.Context(), store, root, bases, Progress{}, Target{Time: at(1234)}); err != nil || store.Reads()-reads > 100 {
		t.Errorf("the search reads %d objects: %v", store.Reads()-reads, err)
	}
}

// The sample of a day must be even, because a restore holds only the names near one of its links.
func TestASampleOfLinksIsEven(t *testing.T) {
	for _, step := range []int64{1, 2, 3, 10, 1000, 1024} {
		s := sample{bits: 4}
		gap, longest := 0, 0
		for i := range int64(100_000) {
			if gap++; s.has(Name{first: 1 + i*step}) {
				longest, gap = max(longest, gap), 0
			}
		}
		if longest == 0 || longest > 1000 {
			t.Errorf("a segment with %d revisions: %d links are between two of the sample", step, longest)
		}
	}
}

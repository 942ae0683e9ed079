package archive

import (
	"slices"
	"testing"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// lessHeld lets each reader of an archive hold few names.
func lessHeld(t *testing.T, names int) {
	t.Helper()
	before := maxNames
	maxNames = names
	t.Cleanup(func() { maxNames = before })
}

// The API accepts a window of 120 days with a segment every 5 seconds, and a store may refuse deletions for months. Such an archive has more segments
// than are held. No point of it could be restored any more, not even one just after the newest snapshot, and nothing of it was ever deleted again.
func TestAnArchiveWithMoreNamesThanAreHeldIsRestoredAndPruned(t *testing.T) {
	old := newHistory(1, base(10, 10)).segment(15).segment(18)
	h := newHistory(2, base(10, 12))
	for last := int64(20); last <= 200; last += 10 {
		h.segment(last)
	}
	store := newStoreOf([]History{old.History, h.History})
	bases := []Base{base(10, 12), base(100, 100), base(190, 190)}
	lessHeld(t, 16)
	for target, from := range map[Target]int64{
		{Revision: 195}: 190, {Revision: 115}: 100, {Revision: 12}: 10,
	} {
		choice, err := Find(t.Context(), store, root, bases, Progress{}, target)
		if err != nil || choice.Base.Point.Revision != from || choice.Timeline != 2 {
			t.Errorf("%s: the replay begins with revision %d of timeline %d, want %d: %v", target, choice.Base.Point.Revision, choice.Timeline, from, err)
		}
	}
	// The window begins after the base at revision 100.
	survey, err := Look(t.Context(), store, root, bases, 16)
	if err != nil {
		t.Fatalf("nothing is ever deleted: %v", err)
	}
	defer survey.Drop()
	if n := len(survey.Ranges); n != 1 || survey.Ranges[0].To.Revision != 200 || len(survey.Holes) > 0 || !survey.Covered {
		t.Errorf("the ranges %+v, the holes %v", survey.Ranges, survey.Holes)
	}
	all, release, err := listPart(t.Context(), store, root, withoutLinks)
	if err != nil || all[1].begins() != 11 {
		t.Fatalf("%+v, %v", all, err)
	}
	release()
	maxNames = 2_000_000
	names, starts := namesOf([]History{old.History, h.History})
	want := outdatedKeys(names, starts, base(100, 100))
	maxNames = 16
	for _, most := range []int{1, 3, 5, 100} {
		outdated, more, err := survey.Outdated(t.Context(), store, root, base(100, 100), most)
		first := want[:min(most, len(want))]
		if got := keysIn(root, outdated); err != nil || !slices.Equal(got, first) || more != (most < len(want)) {
			t.Errorf("at most %d: %q, more %v, want %q, error %v", most, got, more, first, err)
		}
	}
}

// A restore to a time failed like one to a revision.
func TestATimeIsFoundInAnArchiveWithMoreNamesThanAreHeld(t *testing.T) {
	const hour = 60 * 60
	h := newHistory(1, base(1, hour))
	for r := int64(2); r <= 160; r++ { // one an hour
		h.segment(r)
		last := &h.Links[len(h.Links)-1]
		last.Header.Points = Points{{r, at(int(r) * hour)}}
		last.Header.hash = ""
		last.Header.hash, last.Key = last.Header.Hash(), LinkKey(root, 1, at(int(r-1)*hour), r)
		h.chain = last.Header.Chain()
	}
	store := newStoreOf([]History{h.History})
	lessHeld(t, 120)
	bases := []Base{base(1, hour), base(90, 90*hour), base(125, 125*hour)}
	for target, reached := range map[int]int64{2: 2, 91: 91, 100: 100, 126: 126} {
		choice, err := Find(t.Context(), store, root, bases, Progress{}, Target{Time: at(target*hour + 7)})
		if err != nil || choice.Reached.Revision != reached {
			t.Errorf("hour %d: revision %d, want %d: %v", target, choice.Reached.Revision, reached, err)
		}
	}
}

// The proofs of parts that a survey does not hold were deleted, and these parts were proven again.
func TestTheProofsOfPartsThatAreNotHeldAreKept(t *testing.T) {
	h := newHistory(1, base(10, 10))
	for last := int64(20); last <= 200; last += 10 {
		h.segment(last)
	}
	lessHeld(t, 8)
	survey, err := Look(t.Context(), newStoreOf([]History{h.History}), root, []Base{base(10, 10)}, 16)
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Drop()
	proofs := []ProofName{{Timeline: 1, From: 5, To: 9}, {Timeline: 1, From: 10, To: 20}}
	if got := OutdatedProofs(root, survey.Names, proofs); !slices.Equal(got, []string{proofs[0].Key(root)}) {
		t.Errorf("%q", got)
	}
}

// Keepers of one tenant held seven eighths of the memory for months. The rest, 32 MiB, had the names of 600,000 links. An archive with more was neither
// restored to a point nor pruned, so its user lost the restore and paid for each old segment. The memory and the archive are a sixteenth of the real ones.
func TestALongArchiveIsReadInPartsWhileATenantHoldsTheMemory(t *testing.T) {
	used := shared(t, objstore.HeldMemory/16)
	lessHeld(t, 60_000)
	_, tenant := objstore.Hold(t.Context(), "tenant")
	defer tenant.Release()
	if err := tenant.Add(objstore.HeldMemory / 16 * 7 / 8); err != nil {
		t.Fatal(err)
	}
	before := used()
	ctx, held := objstore.Hold(t.Context(), "other")
	defer held.Release()
	for name, read := range map[string]func(count int) ([]Names, func(), error){
		"for a restore, of a status and a retention": func(count int) ([]Names, func(), error) { return ListSome(ctx, numbered{count: count}, long) },
		"of the newest ones": func(count int) ([]Names, func(), error) {
			return listPart(ctx, numbered{count: count}, long, newestLinks)
		},
		"around a target": func(count int) ([]Names, func(), error) {
			names, release, err := Near(ctx, numbered{count: count}, long, 1, 100)
			return []Names{names}, release, err
		},
	} {
		for _, count := range []int{500_000 / 16, 800_000 / 16} {
			all, release, err := read(count)
			if err != nil {
				t.Errorf("%s: %d links: %v", name, count, err)
				continue
			}
			if links := len(all[0].Links); name == "of the newest ones" && all[0].Links[links-1].first != int64(count) {
				t.Errorf("%s: %d links: the newest one is missing", name, count)
			}
			release()
		}
	}
	if used() != before {
		t.Errorf("%d bytes are counted in the end", used()-before)
	}
}

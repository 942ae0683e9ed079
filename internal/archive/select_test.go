package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func base(revision int64, seconds int) Base {
	return Base{Key: fmt.Sprint("base-", revision), ClusterID: "0000000000000abc", Point: Point{revision, at(seconds)}, Auth: auth.State{Revision: 1}}
}

// history builds a timeline: revision r is received at second r + shift.
type history struct {
	History
	chain Chain
	shift int
}

func newHistory(t Timeline, b Base) *history {
	h := &history{}
	h.Start = NewStart(t, 0xabc, b, "test")
	h.chain = h.Start.Chain()
	return h
}

func (h *history) add(header Header) *history {
	if !header.Gap() {
		header.Unbroken = h.chain.unbroken(header)
	}
	header.hash = header.Hash() // as in one that was read
	key := LinkKey(root, h.chain.Timeline, h.chain.At, header.First)
	h.Links = append(h.Links, Link{key, header})
	h.chain = header.Chain()
	return h
}

// segment adds a segment with a point for each revision.
func (h *history) segment(last int64, users ...uint64) *history {
	header := Header{
		FormatVersion: 1, Kind: kindSegment, Timeline: h.chain.Timeline, First: h.chain.Last + 1, Last: last, Number: h.chain.Number + 1, Previous: h.chain.Hash,
		AuthFrom: 1, AuthTo: 1, Events: last, Size: last, SHA256: strings.Repeat("0", 64), Tail: "tail",
	}
	if len(users) == 2 {
		header.AuthFrom, header.AuthTo = users[0], users[1]
	}
	for r := header.First; r <= last; r++ {
		header.Points = append(header.Points, Point{r, at(int(r) + h.shift)})
	}
	return h.add(header)
}

func (h *history) gap(b Base) *history { return h.add(NewGap(h.chain, b, 0, "etcd was compacted")) }

func TestSelectFindsTheNewestBaseAndTheSegmentsUpToTheTarget(t *testing.T) {
	one := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40)
	bases := []Base{base(10, 10), base(25, 25)}
	for name, test := range map[string]struct {
		target     Target
		base       int64
		links      int
		reached    int64
		resolution time.Duration
	}{
		"a base itself":                       {Target{Revision: 10}, 10, 0, 10, 0},
		"a revision within the first segment": {Target{Revision: 12}, 10, 1, 12, 0},
		"the last revision of a segment":      {Target{Revision: 20}, 10, 1, 20, 0},
		"the first revision of a segment":     {Target{Revision: 21}, 10, 2, 21, 0},
		"a revision before the second base":   {Target{Revision: 24}, 10, 2, 24, 0},
		"the revision of the second base":     {Target{Revision: 25}, 25, 0, 25, 0},
		"a revision after the second base":    {Target{Revision: 26}, 25, 1, 26, 0},
		"the newest revision":                 {Target{Revision: 40}, 25, 2, 40, 0},
		"a time at a revision":                {Target{Time: at(22)}, 10, 2, 22, time.Second},
		"a time between two revisions":        {Target{Time: at(22).Add(time.Millisecond)}, 10, 2, 22, time.Second},
		"a time before the next segment":      {Target{Time: at(30).Add(time.Millisecond)}, 25, 1, 30, time.Second},
		"the time of the newest revision":     {Target{Time: at(40)}, 25, 2, 40, 0},
		"the time of the first base":          {Target{Time: at(10)}, 10, 0, 10, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Select([]History{one.History}, bases, test.target)
			if err != nil {
				t.Fatal(err)
			}
			if c.Base.Point.Revision != test.base || len(c.Links) != test.links || c.Reached.Revision != test.reached || c.Resolution != test.resolution {
				t.Errorf("got base %d, %d links, revision %d, resolution %s, want %d, %d, %d, %s", c.Base.Point.Revision, len(c.Links),
					c.Reached.Revision, c.Resolution, test.base, test.links, test.reached, test.resolution)
			}
		})
	}
}

func TestSelectRefusesWhatIsLostAndNamesTheNearestPoints(t *testing.T) {
	gap := newHistory(1, base(10, 10)).segment(20).gap(base(30, 30)).segment(40)
	users := newHistory(1, base(10, 10)).segment(20).segment(30, 1, 2).segment(40, 2, 2)
	second := base(33, 33)
	second.Auth.Revision = 2
	missing := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40)
	missing.Links = slices.Delete(missing.Links, 1, 2)
	for name, test := range map[string]struct {
		history       *history
		bases         []Base
		target        Target
		before, after int64
		reason        string
	}{
		"a revision in a gap":                                 {gap, []Base{base(10, 10), base(30, 30)}, Target{Revision: 25}, 20, 30, "were lost: etcd was compacted"},
		"a time in a gap":                                     {gap, []Base{base(10, 10), base(30, 30)}, Target{Time: at(25)}, 20, 30, ""},
		"a revision after a change of users":                  {users, []Base{base(10, 10), second}, Target{Revision: 25}, 20, 33, "users, roles or authentication"},
		"a revision before the first base with the new users": {users, []Base{base(10, 10), second}, Target{Revision: 32}, 20, 33, ""},
		"a revision in a missing segment":                     {missing, []Base{base(10, 10)}, Target{Revision: 25}, 20, 0, "the revisions 21 to 30 of timeline 1 are missing"},
		"a revision after a missing segment":                  {missing, []Base{base(10, 10)}, Target{Revision: 35}, 20, 0, ""},
		"a revision before the archive":                       {gap, []Base{base(10, 10)}, Target{Revision: 9}, 0, 10, ""},
		"a revision after the archive":                        {gap, []Base{base(10, 10), base(30, 30)}, Target{Revision: 41}, 40, 0, ""},
		"a time after the archive":                            {gap, []Base{base(10, 10), base(30, 30)}, Target{Time: at(41)}, 40, 0, ""},
		"a revision of an archive without a base":             {gap, nil, Target{Revision: 15}, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Select([]History{test.history.History}, test.bases, test.target)
			var refusal *Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %+v and %v, want a refusal", c, err)
			}
			if got := revisionOf(refusal.Before); got != test.before {
				t.Errorf("the nearest point before is %d, want %d", got, test.before)
			}
			if got := revisionOf(refusal.After); got != test.after {
				t.Errorf("the nearest point after is %d, want %d", got, test.after)
			}
			if !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %q, want the reason %q", err, test.reason)
			}
		})
	}
}

func revisionOf(p *Point) int64 {
	if p == nil {
		return 0
	}
	return p.Revision
}

func TestSelectUsesTheTimelineOfTheTime(t *testing.T) {
	one := newHistory(1, base(10, 10)).segment(40)
	restored := base(20, 50) // the cluster went back to revision 20 at second 50
	two := newHistory(2, restored)
	two.chain.At = at(50)
	for r := int64(21); r <= 45; r++ { // a revision each second from second 51
		h := Header{
			FormatVersion: 1, Kind: kindSegment, Timeline: 2, First: r, Last: r, Previous: two.chain.Hash, AuthFrom: 1, AuthTo: 1,
			Points: []Point{{r, at(int(r) + 30)}}, Events: 1, Size: 1, SHA256: strings.Repeat("0", 64),
		}
		two.add(h)
	}
	other := base(10, 10)
	both := []History{one.History, two.History}
	both[1].Start.ClusterID = "0000000000000def"
	two.Start.ClusterID = "0000000000000def"
	restored.ClusterID = "0000000000000def"
	// The chain begins with the start object, so it must be computed again.
	both[1].Links = rechain(both[1])
	for name, test := range map[string]struct {
		target   Target
		timeline Timeline
		revision int64
	}{
		"a time in the first timeline":                              {Target{Time: at(35)}, 1, 35},
		"a time in the second timeline":                             {Target{Time: at(60)}, 2, 30},
		"selects the newest timeline for a revision that both have": {Target{Revision: 30}, 2, 30},
		"a revision that only the first timeline has":               {Target{Revision: 15}, 1, 15},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Select(both, []Base{other, restored}, test.target)
			if err != nil {
				t.Fatal(err)
			}
			if c.Timeline != test.timeline || c.Reached.Revision != test.revision {
				t.Errorf("got revision %d of timeline %d, want %d of %d", c.Reached.Revision, c.Timeline, test.revision, test.timeline)
			}
		})
	}
	if c, err := Select(both, []Base{other, restored}, Target{Time: at(45)}); err == nil {
		t.Errorf("got %+v for a time between the timelines, want a refusal", c.Reached)
	}
}

func rechain(h History) []Link {
	chain := h.Start.Chain()
	links := slices.Clone(h.Links)
	for i := range links {
		links[i].Header.Previous, links[i].Header.hash = chain.Hash, ""
		chain = links[i].Header.Chain()
	}
	return links
}

func TestProgressOfAnIdleClusterExtendsTheLastPoint(t *testing.T) {
	one := newHistory(1, base(10, 10)).segment(20)
	one.Progress = &Point{20, at(3600)}
	c, err := Select([]History{one.History}, []Base{base(10, 10)}, Target{Time: at(3000)})
	if err != nil || c.Reached.Revision != 20 {
		t.Errorf("got %v and %v, want revision 20", c.Reached, err)
	}
	one.Progress = &Point{21, at(3600)} // there are revisions that are not stored
	if c, err := Select([]History{one.History}, []Base{base(10, 10)}, Target{Time: at(3000)}); err == nil {
		t.Errorf("got %v, want a refusal", c.Reached)
	}
}

// random returns a random archive with segments, gaps, changes of users, several timelines and bases. Some bases are
// useless.
func random(r *rand.Rand) (histories []History, bases []Base) {
	seconds := 0
	for t := range Timeline(1 + r.IntN(3)) {
		id := uint64(t)
		users := auth.State{Revision: 1, Enabled: auth.Off}
		newBase := func(revision int64, at_ int) Base {
			b := Base{ClusterID: fmt.Sprintf("%016x", id), Point: Point{revision, at(at_)}, Auth: users}
			bases = append(bases, b)
			return b
		}
		h := &history{}
		h.Start = NewStart(t+1, id, newBase(int64(1+r.IntN(50)), seconds), "test")
		h.chain = h.Start.Chain()
		for range r.IntN(12) {
			last := h.chain.Last + int64(1+r.IntN(8))
			if r.IntN(6) == 0 {
				seconds += 5
				h.gap(newBase(last, seconds))
				continue
			}
			header := Header{
				FormatVersion: 1, Kind: kindSegment, Timeline: t + 1, First: h.chain.Last + 1, Last: last, Previous: h.chain.Hash,
				Events: last, Size: last, SHA256: strings.Repeat("0", 64),
			}
			before := users
			switch r.IntN(16) {
			case 0:
				users.Revision++
			case 1:
				users.Enabled = auth.On // etcd does not raise the revision
			case 2:
				users = auth.State{Revision: users.Revision + 1, Enabled: auth.Off}
			}
			header.setAuth(before, users)
			for revision := header.First; revision <= last; revision++ {
				seconds += r.IntN(3)
				if revision == last || r.IntN(2) == 0 {
					header.Points = append(header.Points, Point{revision, at(seconds)})
				}
			}
			h.add(header)
			if r.IntN(3) == 0 || before != users {
				newBase(last, seconds)
			}
			if r.IntN(4) == 0 { // the cluster is idle, and a user changes users or authentication
				newBase(last, seconds)
				if seconds += 5; users.Enabled != auth.On {
					users.Enabled = auth.On
				} else {
					users.Revision++
				}
				newBase(last, seconds)
			}
		}
		seconds += r.IntN(10)
		histories = append(histories, h.History)
	}
	slices.Reverse(bases) // a listing has the newest first
	return histories, bases
}

// TestSelectedLinksAlwaysLeadToTheTarget checks Select against its contract in random archives.
func TestSelectedLinksAlwaysLeadToTheTarget(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		histories, bases := random(r)
		for range 30 {
			target := Target{Revision: int64(1 + r.IntN(120))}
			if r.IntN(2) == 0 {
				target = Target{Time: at(r.IntN(150)).Add(time.Duration(r.IntN(1000)) * time.Millisecond)}
			}
			c, err := Select(histories, bases, target)
			if err != nil {
				checkRefusal(t, seed, histories, bases, target, err)
				continue
			}
			checkChoice(t, seed, c, target)
			checkUsers(t, seed, c, bases, target)
		}
	}
}

// checkUsers checks that a revision is restored with the last users that the cluster had at it. A restore without them loses passwords, or serves
// everybody.
func checkUsers(t *testing.T, seed uint64, c Choice, bases []Base, target Target) {
	t.Helper()
	for _, b := range bases {
		if b.ClusterID == c.Base.ClusterID && b.Point.Revision == target.Revision && c.Base.Auth.Compare(b.Auth) < 0 {
			t.Errorf("seed %d, target %s: restored with auth revision %s, and a base has %s", seed, target, c.Base.Auth, b.Auth)
		}
	}
}

func checkChoice(t *testing.T, seed uint64, c Choice, target Target) {
	t.Helper()
	now, chain := c.Base.Point.Revision, c.Chain
	for _, l := range c.Links {
		next, err := chain.Follow(l.Key, l.Header)
		switch {
		case err != nil:
			t.Fatalf("seed %d, target %s: %v", seed, target, err)
		case l.Header.Gap(), l.Header.First > now+1, l.Header.AuthFrom != c.Base.Auth.Revision, l.Header.AuthTo != c.Base.Auth.Revision,
			l.Header.AuthEnabledTo == auth.On && c.Base.Auth.Enabled != auth.On:
			t.Fatalf("seed %d, target %s: link %+v cannot be replayed after %d", seed, target, l.Header, now)
		}
		now, chain = max(now, l.Header.Last), next
	}
	if now < c.Reached.Revision {
		t.Errorf("seed %d, target %s: the links end with %d, want %d", seed, target, now, c.Reached.Revision)
	}
	if target.Revision > 0 && c.Reached.Revision != target.Revision {
		t.Errorf("seed %d, target %s: got revision %d", seed, target, c.Reached.Revision)
	}
	if target.Revision == 0 && c.Reached.At.After(target.Time) {
		t.Errorf("seed %d, target %s: %s is later", seed, target, c.Reached)
	}
}

// checkRefusal checks that no range has the target unless a newer timeline had it, and that the nearest points can be restored.
func checkRefusal(t *testing.T, seed uint64, histories []History, bases []Base, target Target, err error) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("seed %d, target %s: %v", seed, target, err)
	}
	for _, r := range Recoverable(histories, bases) {
		within := r.From.Revision <= target.Revision && target.Revision <= r.To.Revision
		if target.Revision > 0 && within && !hides(histories, bases, evidenceOf(startsOf(histories), bases, nil), r.Timeline, target.Revision) {
			t.Errorf("seed %d: revision %d is refused, but the range %v has it", seed, target.Revision, r)
		}
	}
	for _, p := range []*Point{refusal.Before, refusal.After} {
		if p == nil {
			continue
		}
		asked := Target{Revision: p.Revision}
		if target.Revision == 0 { // a newer timeline may have had the revision
			asked = Target{Time: p.At}
		}
		if _, err := Select(histories, bases, asked); err != nil {
			t.Errorf("seed %d, target %s: the nearest point %s is refused: %v", seed, target, p, err)
		}
	}
}

// TestOutdatedKeepsEveryTargetFromTheBaseOn deletes what Outdated permits, and selects targets as before.
func TestOutdatedKeepsEveryTargetFromTheBaseOn(t *testing.T) {
	deleted := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		histories, bases := random(r)
		first := bases[r.IntN(len(bases))]
		names, starts := namesOf(histories)
		keys := outdatedKeys(names, starts, first)
		steps := len(keys)
		if steps > 0 {
			steps = r.IntN(steps + 1) // the process may be killed at any point
		}
		deleted += steps
		after := without(histories, keys[:steps])
		kept := slices.DeleteFunc(slices.Clone(bases), func(b Base) bool { return b.Point.At.Before(first.Point.At) })
		for range 30 {
			target := Target{Time: first.Point.At.Add(time.Duration(r.IntN(60_000)) * time.Millisecond)}
			want, err := Select(histories, kept, target)
			if err != nil {
				continue
			}
			got, err := Select(after, kept, target)
			if err != nil {
				t.Fatalf("seed %d: %s was %s, but after %d deletions: %v", seed, target, want.Reached, steps, err)
			}
			if got.Reached != want.Reached || got.Timeline != want.Timeline {
				t.Errorf("seed %d: %s is %v, but was %v", seed, target, got.Reached, want.Reached)
			}
			checkChoice(t, seed, got, target)
		}
		for _, h := range histories {
			if n := len(h.Links); n > 0 && slices.Contains(keys, h.Links[n-1].Key) && !slices.Contains(keys, StartKey(root, h.Start.Timeline)) {
				t.Errorf("seed %d: the last link of timeline %d would be deleted, so the archiver could not continue", seed, h.Start.Timeline)
			}
		}
	}
	if deleted == 0 {
		t.Error("nothing was ever deleted")
	}
}

func TestOutdatedDeletesNothingForABaseOfAnotherHistory(t *testing.T) {
	one := newHistory(1, base(10, 10)).segment(20).segment(30).segment(40)
	names, starts := namesOf([]History{one.History})
	foreign := base(25, 25)
	foreign.ClusterID = "0000000000000def"
	for name, b := range map[string]Base{
		"a base of another cluster": foreign, "a base before the timeline": base(25, 5), "a base after the end of the archive": base(50, 50), "a base in the last segment": base(35, 35),
	} {
		if keys := outdatedKeys(names, starts, b); len(keys) > 0 {
			t.Errorf("%s: %q would be deleted", name, keys)
		}
	}
	if keys := outdatedKeys(names, starts, base(25, 25)); len(keys) != 1 {
		t.Errorf("a base in the second segment: %q would be deleted, want the first segment", keys)
	}
}

func namesOf(histories []History) (names []Names, starts []Start) {
	for _, h := range histories {
		names, starts = append(names, Names{Timeline: h.Start.Timeline, Started: true, Links: h.names()}), append(starts, h.Start)
	}
	return names, starts
}

// outdatedKeys returns the keys of all that Outdated returns.
func outdatedKeys(all []Names, starts []Start, b Base) []string {
	outdated, _ := Outdated(all, starts, b, maxNames)
	return keysIn(root, outdated)
}

func (h History) names() (names []Name) {
	for _, l := range h.Links {
		n, _ := ParseKey(root, l.Key)
		names = append(names, n)
	}
	return names
}

// TestLookFindsTheRangesOfSelectWithFewRequests compares the ranges that few headers describe with those of all headers.
func TestLookFindsTheRangesOfSelectWithFewRequests(t *testing.T) {
	broken := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		histories, bases := random(r)
		store := newStoreOf(histories)
		got, err := Look(t.Context(), store, root, bases, 100)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if limit := 1 + 2*len(histories) + 3*len(got.Ranges) + 2*countBreaks(histories); int(store.gets.Load()) > limit {
			t.Errorf("seed %d: %d reads for %d ranges of %d timelines, want at most %d", seed, store.gets.Load(), len(got.Ranges), len(histories), limit)
		}
		want := Recoverable(histories, bases)
		for _, h := range histories {
			last := h.Start.Chain()
			if n := len(h.Links); n > 0 {
				last = h.Links[n-1].Header.Chain()
			}
			for revision := h.Start.Base.Revision; revision <= last.Last+1; revision++ {
				if a, b := within(got.Ranges, h.Start.Timeline, revision), within(want, h.Start.Timeline, revision); a != b {
					t.Errorf("seed %d: revision %d of timeline %d: Look says %t, want %t\n%v\n%v", seed, revision, h.Start.Timeline, a, b, got.Ranges, want)
				}
			}
		}
		broken += len(want) - len(histories)
		end := histories[len(histories)-1]
		if n := len(end.Links); n > 0 && got.Covered != within(want, end.Start.Timeline, end.Links[n-1].Header.Last) {
			t.Errorf("seed %d: the end is covered: %t, ranges %v", seed, got.Covered, want)
		}
	}
	if broken < 50 {
		t.Errorf("only %d chains were broken", broken)
	}
}

func countBreaks(histories []History) (n int) {
	for _, h := range histories {
		for _, l := range h.Links {
			if l.Header.Gap() || l.Header.authChanged() {
				n++
			}
		}
	}
	return n
}

func within(ranges []Range, t Timeline, revision int64) bool {
	return slices.ContainsFunc(ranges, func(r Range) bool {
		return r.Timeline == t && r.From.Revision <= revision && revision <= r.To.Revision
	})
}

// storeOf is a store in memory with the headers of histories.
type storeOf struct {
	objstore.Store
	objects map[string][]byte
	gets    atomic.Int64 // the headers are read side by side
}

func newStoreOf(histories []History) *storeOf {
	s := &storeOf{objects: map[string][]byte{}}
	for _, h := range histories {
		s.objects[StartKey(root, h.Start.Timeline)] = h.Start.Encode()
		for _, l := range h.Links {
			s.objects[l.Key] = l.Header.Encode()
		}
	}
	return s
}

func (s *storeOf) List(_ context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		for key := range s.objects {
			if strings.HasPrefix(key, prefix) && !yield(objstore.Object{Key: key}, nil) {
				return
			}
		}
	}
}

func (s *storeOf) Get(_ context.Context, key string) (io.ReadCloser, error) {
	s.gets.Add(1)
	object, ok := s.objects[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(object)), nil
}

func without(histories []History, keys []string) []History {
	var after []History
	for _, h := range histories {
		if slices.Contains(keys, StartKey(root, h.Start.Timeline)) {
			continue
		}
		h.Links = slices.DeleteFunc(slices.Clone(h.Links), func(l Link) bool { return slices.Contains(keys, l.Key) })
		after = append(after, h)
	}
	return after
}

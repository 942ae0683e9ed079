package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Hole is a part of a timeline that cannot be replayed although it was archived: segments are missing between two others, or the store keeps
// them in a storage class that cannot be read.
type Hole struct {
	Timeline Timeline
	// First and Last revision that cannot be replayed. Last is 0 if the hole reaches the end of the timeline.
	First, Last int64
	// Cold is the key of the first segment that cannot be read. It is empty if the segments are missing.
	Cold string
	// Failed is why the store does not return that segment, if not for its storage class.
	Failed error
}

func (h Hole) String() string {
	revisions := fmt.Sprintf("of the revisions %d to %d of timeline %d", h.First, h.Last, h.Timeline)
	if h.Last == 0 {
		revisions = fmt.Sprintf("of the revisions after %d of timeline %d", h.First-1, h.Timeline)
	}
	if h.Failed != nil {
		return fmt.Sprintf("the segments %s cannot be read, because the store does not return %s: %v", revisions, h.Cold, h.Failed)
	}
	if h.Cold != "" {
		return fmt.Sprintf("the segments %s are in a storage class that cannot be read, beginning with %s", revisions, h.Cold)
	}
	return fmt.Sprintf("the segments %s are missing", revisions)
}

// MaxHoles bounds the reads of a survey. If there are more holes, what is before them counts as not recoverable.
const MaxHoles = 64

// surveyor reads the headers that a survey needs, each of them once.
type surveyor struct {
	store objstore.Getter
	root  string
	read  map[string]Header
	bytes int // of these headers
	// memory counts these headers against that of the process.
	memory *objstore.Holding
	// failed are the links that the store does not return although it returns others.
	failed map[string]error
	holes  []Hole // newest first
}

func (s *surveyor) header(ctx context.Context, link Name) (Header, error) {
	key := link.Key(s.root)
	if h, ok := s.read[key]; ok {
		return h, nil
	}
	h, err := ReadHeader(ctx, s.store, s.root, key)
	if err != nil {
		return h, &linkError{key, err}
	}
	if s.bytes += h.size; s.bytes > maxHeld { // it reads them again if it needs them
		clear(s.read)
		s.bytes = h.size
		s.memory.Release()
	}
	if err := s.memory.Add(int64(h.size)); err != nil {
		return h, err
	}
	s.read[key] = h
	return h, nil
}

// section is a part of a timeline without a hole.
type section struct {
	links []Name
	// until is the last revision, before a hole. It is 0 if the section reaches the end of the timeline.
	until int64
	// after reports whether a hole is before the section.
	after bool
}

// sections returns the parts of a timeline between its holes, newest first. A listing has the first revision and the storage class of each
// segment. Their numbers in a few headers show whether segments are missing.
func (s *surveyor) sections(ctx context.Context, names Names) ([]section, error) {
	if len(names.Links) == 0 {
		return []section{{}}, nil
	}
	var found []section
	until, end := int64(0), len(names.Links)
	for end > 0 && len(s.holes) < MaxHoles {
		warm := end
		for warm > 0 && !names.Links[warm-1].cold {
			warm--
		}
		parts, err := s.numbered(ctx, names.Timeline, names.Links[warm:end], until)
		if err != nil {
			return nil, err
		}
		found = append(found, parts...)
		if end = warm; end == 0 {
			break
		}
		for end > 0 && names.Links[end-1].cold {
			end--
		}
		if n := len(found); n > 0 {
			found[n-1].after = end > 0 // otherwise it is as if the first ones were deleted
		}
		if until, err = s.cold(ctx, names, end, warm); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// cold records the hole of the links from first up to next, and returns the revision before it. A link may have been made readable for some days:
// the store alone knows that, so it is asked for both ends.
func (s *surveyor) cold(ctx context.Context, names Names, first, next int) (before int64, err error) {
	hole := Hole{Timeline: names.Timeline, First: names.Links[first].first, Cold: names.Links[first].Key(s.root)}
	for i := first; i < next && len(s.failed) > 0; i++ {
		key := names.Links[i].Key(s.root)
		if err := s.failed[key]; err != nil {
			hole.Cold, hole.Failed = key, err
			break
		}
	}
	if next < len(names.Links) {
		hole.Last = names.Links[next].first - 1
	}
	if first > 0 {
		h, err := s.header(ctx, names.Links[first-1])
		if err != nil {
			return 0, err
		}
		hole.First = h.Last + 1
	}
	s.holes = append(s.holes, hole)
	return hole.First - 1, nil
}

// numbered returns the parts of links that can all be read, newest first. Each link has the number of the one before it and 1. A link of an earlier
// version has none, and nothing is known of what is missing before it.
func (s *surveyor) numbered(ctx context.Context, t Timeline, links []Name, until int64) (parts []section, err error) {
	for len(links) > 0 {
		first, err := s.unbroken(ctx, links)
		if err != nil {
			return nil, err
		}
		parts = append(parts, section{links: links[first:], until: until, after: first > 0})
		if first == 0 || len(s.holes) >= MaxHoles {
			return parts, nil
		}
		before, err := s.header(ctx, links[first-1])
		if err != nil {
			return nil, err
		}
		until = before.Last
		s.holes = append(s.holes, Hole{Timeline: t, First: before.Last + 1, Last: links[first].first - 1})
		links = links[:first]
	}
	return parts, nil
}

// unbroken returns the index of the first link from which no link is missing up to the last one. It is 0 if none is missing at all.
func (s *surveyor) unbroken(ctx context.Context, links []Name) (int, error) {
	last := len(links) - 1
	h, err := s.header(ctx, links[last])
	if err != nil || h.Number == 0 {
		return 0, err
	}
	least := max(0, last-int(min(h.Number-1, int64(last)))) // that of the first number, if none is missing
	var failed error
	complete := func(i int) bool {
		if failed != nil {
			return true
		}
		var at Header
		at, failed = s.header(ctx, links[i])
		return failed != nil || at.Number == h.Number-int64(last-i)
	}
	first := least
	if !complete(least) {
		first = least + 1 + sort.Search(last-least-1, func(i int) bool { return complete(least + 1 + i) })
	}
	if failed != nil || first == 0 {
		return 0, failed
	}
	before, err := s.header(ctx, links[first-1])
	if err != nil || before.Last+1 == links[first].first {
		return 0, err // the links before have no numbers
	}
	return first, nil
}

// readable removes from the cold links those that the store returns, because a person has restored them for some days. It asks for
// the first and the last one of those that follow each other.
func (s *surveyor) readable(ctx context.Context, names *Names) error {
	asked := 0
	for end := len(names.Links); end > 0; end-- {
		if !names.Links[end-1].cold {
			continue
		}
		first := end
		for first > 0 && names.Links[first-1].cold {
			first--
		}
		if asked++; asked > MaxHoles {
			return nil
		}
		warm, err := s.bothReadable(ctx, names.Links[first], names.Links[end-1])
		if err != nil {
			return err
		}
		if warm {
			for i := first; i < end; i++ {
				names.Links[i].cold = false
			}
		}
		end = first + 1
	}
	return nil
}

func (s *surveyor) bothReadable(ctx context.Context, links ...Name) (bool, error) {
	for _, link := range slices.Compact(links) {
		if _, failed := s.failed[link.Key(s.root)]; failed {
			return false, nil
		}
		_, err := s.header(ctx, link)
		if errors.Is(err, fs.ErrPermission) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

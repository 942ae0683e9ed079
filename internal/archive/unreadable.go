package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

func (u Unreadable) String() string {
	return fmt.Sprintf("timeline %d cannot be restored, because the store does not return its start object %s: %v", u.Timeline, u.Key, u.Err)
}

func (c ColdBase) String() string {
	return fmt.Sprintf("no restore can begin with the snapshot %s, because the store does not return it: %v", c.Key, c.Err)
}

// Reaches reports whether a replay from a snapshot that cannot be read would reach the end of the newest timeline.
func (s Survey) Reaches(c ColdBase) bool { return s.end.follows(c.Base) }

// readStarts reads the starts of all timelines. It passes over those that the store does not return although it returns another object: such a
// timeline is like one without a start.
func (s *Survey) readStarts(ctx context.Context, reading *surveyor) error {
	s.Starts = make([]Start, len(s.Names))
	starts := held{in: objstore.HoldingOf(ctx)}
	read := false
	for i := range s.Names {
		names := &s.Names[i]
		if !names.Started {
			s.Startless = append(s.Startless, names.Timeline)
			continue
		}
		start, err := ReadStart(ctx, reading.store, reading.root, names.Timeline)
		if objstore.Unread(ctx, err) {
			names.Started = false
			s.Unreadable = append(s.Unreadable, Unreadable{names.Timeline, StartKey(reading.root, names.Timeline), err})
			continue
		}
		if err = cmp.Or(err, starts.add(start.size)); err != nil {
			return err
		}
		s.Starts[i], read = start, true
	}
	if len(s.Unreadable) > 0 && !read && !s.returnsAnother(ctx, reading, s.Unreadable[0].Key) {
		return s.Unreadable[0].Err
	}
	return nil
}

func (e *linkError) Error() string { return e.err.Error() }
func (e *linkError) Unwrap() error { return e.err }

// SegmentOf returns the key of the segment that an error is about. It is empty if the error is of none.
func SegmentOf(err error) string {
	if of := (*linkError)(nil); errors.As(err, &of) {
		return of.key
	}
	return ""
}

// ask reads the headers of segments that the store did not return before. It passes over those that it still does not return.
func (s *Survey) ask(ctx context.Context, reading *surveyor, suspects []string) error {
	for _, key := range suspects[:min(len(suspects), maxHoles)] {
		link, ok := parseKey(reading.root, key)
		listed := ok && slices.ContainsFunc(s.Names, func(n Names) bool { return slices.ContainsFunc(n.Links, link.is) })
		if !listed {
			continue
		}
		if _, err := reading.header(ctx, link); err != nil && !s.passOver(ctx, reading, err) {
			return err
		}
	}
	return nil
}

// passOver notes that the store does not return one link, so that the survey can be repeated without it. It reports false for an error that
// ends the survey: of the store, of a damaged archive, or of the caller. A store that returns another link at the same time works.
func (s *Survey) passOver(ctx context.Context, reading *surveyor, err error) bool {
	var of *linkError
	if !errors.As(err, &of) || !objstore.Unread(ctx, err) || len(reading.failed) >= maxHoles {
		return false
	}
	if !s.returnsAnother(ctx, reading, of.key) {
		return false
	}
	reading.failed[of.key] = of.err
	link, _ := parseKey(reading.root, of.key)
	for i := range s.Names {
		names := &s.Names[i]
		switch at := slices.IndexFunc(names.Links, func(n Name) bool { return n.is(link) }); {
		case at < 0:
		case errors.Is(of.err, fs.ErrNotExist): // it was deleted since
			names.Links = slices.Delete(names.Links, at, at+1)
		default:
			names.Links[at].cold = true
		}
	}
	return true
}

// returnsAnother asks for the newest, the oldest and the middle one of the other links, until the store returns one of them.
func (s *Survey) returnsAnother(ctx context.Context, reading *surveyor, key string) bool {
	failed, _ := parseKey(reading.root, key)
	count := 0
	for range s.readable(failed) {
		count++
	}
	var others []string
	i := 0
	for link := range s.readable(failed) {
		if i == 0 || i == count/2 || i == count-1 {
			others = append(others, link.Key(reading.root))
		}
		i++
	}
	for _, other := range slices.Backward(others) {
		if _, err := ReadHeader(ctx, reading.store, reading.root, other); err == nil {
			return true
		}
	}
	return false
}

// readable yields all links but one that are not cold, oldest first.
func (s *Survey) readable(but Name) iter.Seq[Name] {
	return func(yield func(Name) bool) {
		for _, names := range s.Names {
			for _, link := range names.Links {
				if !link.is(but) && !link.cold && !yield(link) {
					return
				}
			}
		}
	}
}

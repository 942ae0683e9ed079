package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/auth"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Survey is an archive as its keys and a few headers describe it.
type Survey struct {
	Names  []Names
	Starts []Start // of the same timelines; a timeline of Startless has an empty one
	// Startless are the timelines without a start object. Nothing of them can be restored.
	Startless []Timeline
	// Unreadable are the starts that the store does not return although it returns other objects. While one cannot be read, nothing of its
	// timeline can be restored, and nothing of it is outdated.
	Unreadable []Unreadable
	// ColdBases are the snapshots of the window that the store does not return, so that no replay can begin with them. The caller of Look adds them.
	ColdBases []ColdBase
	// Ranges that can be restored, oldest first. They are the newest ones if there are more than the limit.
	Ranges []Range
	// Holes are parts that cannot be restored although they were archived, oldest first.
	Holes []Hole
	// Unbroken is that of the end of the newest timeline: without a base from there on, its newest revisions cannot be
	// restored.
	Unbroken int64
	// Covered reports whether there is such a base.
	Covered bool
	// Following is how many links of that timeline follow its newest base. If they are more than MaxLinks, no target after those can be
	// restored.
	Following int

	release func()
	end     end         // of that timeline
	bases   []Base      // of that timeline
	newer   []Revisions // of the timelines that were surveyed before
	// others are the revisions of clusters that are later than the timeline that is surveyed.
	others   []Revisions
	evidence evidence
}

// end is a point of a chain at which a range may end.
type end struct {
	to       Point
	unbroken int64
	auth     auth.State
	last     bool // of its timeline
}

// follows reports whether a replay from a base reaches the end. If users, roles or authentication have changed since the last link, a base at
// that revision has the change and needs no link.
func (e end) follows(b Base) bool {
	within := b.Point.Revision >= e.unbroken && b.Point.Revision <= e.to.Revision
	return within && (b.Auth.Keeps(e.auth) || e.last && b.Point.Revision == e.to.Revision)
}

// changes reports whether users, roles or authentication have changed between e and a later end.
func (e end) changes(later end) bool {
	return later.to.Revision > e.to.Revision && !e.auth.Keeps(later.auth)
}

// Unreadable is the start of a timeline that the store does not return.
type Unreadable struct {
	Timeline Timeline
	Key      string
	Err      error
}

// ColdBase is a snapshot that the store does not return.
type ColdBase struct {
	Base
	Err error
}

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

// ask reads the headers of segments that the store did not return before. It passes over those that it still does not return.
func (s *Survey) ask(ctx context.Context, reading *surveyor, suspects []string) error {
	for _, key := range suspects[:min(len(suspects), MaxHoles)] {
		link, ok := ParseKey(reading.root, key)
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
	if !errors.As(err, &of) || !objstore.Unread(ctx, err) || len(reading.failed) >= MaxHoles {
		return false
	}
	if !s.returnsAnother(ctx, reading, of.key) {
		return false
	}
	reading.failed[of.key] = of.err
	link, _ := ParseKey(reading.root, of.key)
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
	failed, _ := ParseKey(reading.root, key)
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

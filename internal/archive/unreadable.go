package archive

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
)

// linkError is the error of one link.
type linkError struct {
	key string
	err error
}

func (e *linkError) Error() string { return e.err.Error() }
func (e *linkError) Unwrap() error { return e.err }

// passOver notes that the store does not return one link, so that the survey can be repeated without it. It reports false for an error that
// ends the survey: of the store, of a damaged archive, or of the caller. A store that returns another link at the same time works.
func (s *Survey) passOver(ctx context.Context, reading *surveyor, err error) bool {
	var of *linkError
	if !errors.As(err, &of) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewerFormat) || ctx.Err() != nil || len(reading.failed) >= maxHoles {
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

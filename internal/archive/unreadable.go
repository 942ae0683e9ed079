package archive

import (
	"context"
	"errors"
	"io/fs"
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
	for i := range s.Names {
		names := &s.Names[i]
		switch at := slices.Index(names.Links, of.key); {
		case at < 0:
		case errors.Is(of.err, fs.ErrNotExist): // it was deleted since
			names.Links = slices.Delete(names.Links, at, at+1)
		case names.Cold == nil:
			names.Cold = map[string]bool{of.key: true}
		default:
			names.Cold[of.key] = true
		}
	}
	return true
}

// returnsAnother asks for the newest, the oldest and the middle one of the other links, until the store returns one of them.
func (s *Survey) returnsAnother(ctx context.Context, reading *surveyor, key string) bool {
	var others []string
	for _, names := range s.Names {
		for _, link := range names.Links {
			if link != key && !names.Cold[link] {
				others = append(others, link)
			}
		}
	}
	if len(others) == 0 {
		return false
	}
	for _, other := range slices.Compact([]string{others[len(others)-1], others[0], others[len(others)/2]}) {
		if _, err := ReadHeader(ctx, reading.store, reading.root, other); err == nil {
			return true
		}
	}
	return false
}

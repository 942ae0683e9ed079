package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

var errUnknown = errors.New("500 Internal Server Error")

// What one object's error may do to the others.
func TestOnlyAnErrorOfTheStoreEndsALoopOverObjects(t *testing.T) {
	wrapped := func(kind error) error { return fmt.Errorf("delete: %w", Mark(errors.New("refused"), kind)) }
	for name, test := range map[string]struct {
		answers []error // in turn; after the last one, nil
		tried   int
	}{
		"a locked object":                    {[]error{wrapped(fs.ErrPermission)}, 9},
		"many locked objects":                {[]error{wrapped(fs.ErrPermission), wrapped(fs.ErrPermission), wrapped(fs.ErrPermission), wrapped(fs.ErrPermission), wrapped(fs.ErrPermission)}, 9},
		"an object that exists":              {[]error{wrapped(fs.ErrExist)}, 9},
		"objects that were deleted":          {[]error{fs.ErrNotExist, fs.ErrNotExist, fs.ErrNotExist, fs.ErrNotExist}, 9},
		"damaged objects":                    {[]error{ContentError("damaged"), fmt.Errorf("read: %w", ContentError("damaged")), ContentError("damaged"), ContentError("damaged")}, 9},
		"two objects that the store lost":    {[]error{errUnknown, errUnknown, nil, errUnknown, errUnknown}, 9},
		"a store that is down":               {[]error{errUnknown, errUnknown, errUnknown, errUnknown}, faults},
		"a bucket that does not exist":       {[]error{wrapped(ErrNoBucket)}, 1},
		"a store that is down after a while": {[]error{nil, errUnknown, fs.ErrNotExist, errUnknown, errUnknown, errUnknown}, 6},
	} {
		tried := 0
		errs := Each(t.Context(), make([]int, 9), func(int) error {
			if tried++; tried > len(test.answers) {
				return nil
			}
			return test.answers[tried-1]
		})
		if tried != test.tried || (errs.Ended() != nil) != (tried < 9) || errs.Err() == nil {
			t.Errorf("%s: %d of 9 objects were tried, want %d; ended by %v, error %v", name, tried, test.tried, errs.Ended(), errs.Err())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	tried := 0
	Each(ctx, make([]int, 9), func(int) error { tried++; cancel(); return fs.ErrPermission })
	if tried != 1 {
		t.Errorf("after ctx has ended, %d objects were tried", tried)
	}
	limited := Errors{Refusals: 2}
	if first, second := limited.Add(t.Context(), fs.ErrPermission), limited.Add(t.Context(), fs.ErrPermission); !first || second {
		t.Errorf("the loop with a limit of 2 refusals continued: %v, %v", first, second)
	}
	if errs := EachOf(t.Context(), 4, make([]int, 50), func(int) error { return fs.ErrPermission }); errs.Ended() != nil || errs.Err() == nil || errs.count != 50 {
		t.Errorf("%d of 50 objects were tried, error %v", errs.count, errs.Err())
	}
}

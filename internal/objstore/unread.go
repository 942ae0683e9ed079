package objstore

import (
	"context"
	"errors"
	"io/fs"
)

// Unread reports whether an error of a Get may concern that one object only. The store refuses it, for example because of its storage class or its
// key. Or the store has lost a part of it. Or a listing has a name that the store has no object for. This is the one rule for an object that a name
// stands for: the caller looks at other objects, reports this one, and concludes nothing about what it may contain.
//
// An error is of more than one object if the bucket does not exist, if ctx has ended, or if the memory does not suffice. An object that was read and
// is damaged is no such object either.
func Unread(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	for _, other := range []error{ErrNoBucket, ErrMemory, ErrListing} {
		if errors.Is(err, other) {
			return false
		}
	}
	var content interface{ OfObject() bool }
	return !errors.As(err, &content) || errors.Is(err, fs.ErrNotExist)
}

// Refused reports whether the store answers that it does not return one object.
func Refused(err error) bool { return errors.Is(err, fs.ErrPermission) && !errors.Is(err, ErrNoBucket) }

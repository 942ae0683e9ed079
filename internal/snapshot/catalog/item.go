// Package catalog reads what a store has of snapshots: their names, their manifests, unfinished ones, and what killed processes have left. It deletes
// nothing but uploads that were never completed.
package catalog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Unread returns why the store does not return the object of a snapshot, although it is listed: a lifecycle rule moved it to an archive class, for
// example. A person may have made a copy of it readable for some days, so the store is asked. It returns nil if the object can be read. err is an
// error that may concern more than this object.
func (i Item) Unread(ctx context.Context, store objstore.Getter) (unread, err error) {
	gone, err := objstore.Gone(ctx, store, i.Key)
	switch {
	case objstore.Unread(ctx, err):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("ask whether the snapshot %s can be read: %w", i.Key, err)
	case gone:
		return fmt.Errorf("the snapshot %s was deleted", i.Key), nil
	}
	return nil, nil
}

// Future reports whether the key has a time that has not come yet. Its clock, or the present one, is wrong.
func (i Item) Future(now time.Time) bool {
	return !now.IsZero() && i.InSeries() && i.Time.After(now.Add(snapshot.Skew))
}

// Item is a snapshot as a listing of names describes it: an object with a manifest that has not been read.
type Item struct {
	Key string
	// Series is that of the key. It is the zero Series if the key is not one of a series.
	Series snapshot.Series
	// Time is that of the key. If the key is not one of a series, Time is when the store received the object.
	Time time.Time
	// Size of the object in bytes. Listed reports whether a listing has the object: else its size is not known, and 0.
	Size   int64
	Listed bool
	// Verdict is the result of the last restore test.
	Verdict snapshot.Result
	// Stored is when the store received the object, by its own clock.
	Stored time.Time
	// Cold is that of the object, see objstore.Object.
	Cold bool
}

// InSeries reports whether the key is one of a series.
func (i Item) InSeries() bool { return i.Series != snapshot.Series{} }

func newestFirst(a, b Item) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.Key, a.Key)) }

// Since returns from when on a snapshot is a base: by the clock of the store, and by that of the operator if that was ahead. A clock that was
// ahead for one snapshot must not make an earlier one look unneeded.
func (i Item) Since() time.Time {
	if i.Time.After(i.Stored) {
		return i.Time
	}
	return i.Stored
}

// Latest returns the time from which the ages of snapshots count: when the store received the newest one, by its own clock. But the time in the
// name, which is by the clock of the operator, bounds that time, with Skew. So an age counts only as far as both clocks agree, and one clock that
// was ahead makes no snapshot older. It is zero if there is no snapshot.
func Latest(items []Item) (latest time.Time) {
	for _, i := range items {
		at := i.Stored
		if bound := i.Time.Add(snapshot.Skew); bound.Before(at) {
			at = bound
		}
		if at.After(latest) {
			latest = at
		}
	}
	return latest
}

package standby

import (
	"context"
	"errors"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// findBeginning finds the newest base. It fails if a database at the present position has more than that; present is nil if there is none.
func findBeginning(ctx context.Context, o Options, present *position) (b beginning, err error) {
	if b.Choice, err = o.Find(ctx); err != nil {
		return b, err
	}
	if present != nil && !newer(b.Choice, *present) {
		return b, errors.New("the archive has no newer base yet")
	}
	if b.next, err = firstLink(ctx, o, b.Choice); err == nil {
		b.start, err = startOf(ctx, o, b.Timeline)
	}
	return b, err
}

// newer reports whether a base has more than the database.
func newer(c archive.Choice, p position) bool {
	if c.Timeline != p.Chain.Timeline {
		return c.Timeline > p.Chain.Timeline
	}
	return c.Base.Key != p.Base && c.Base.Point.Revision >= p.whole()
}

// firstLink returns the key of the first link after a base, if it exists. Its day follows from the link before it, which may not exist any more.
func firstLink(ctx context.Context, o Options, c archive.Choice) (string, error) {
	names, release, err := archive.Near(ctx, o.Store, o.Root, c.Timeline, c.Chain.Last+1)
	if err != nil {
		return "", err
	}
	defer release()
	for _, n := range names.Links {
		if n.First() == c.Chain.Last+1 {
			return n.Key(o.Root), nil
		}
	}
	return "", nil
}

// prepare fetches a base, and makes a complete database of it beside the present one.
func prepare(ctx context.Context, o Options, b beginning) error {
	base, imported := o.path(baseName), o.path(importedName)
	defer func() { _ = removeFile(base) }() // Open removes it, too
	if err := errors.Join(removeFile(base), removeFile(imported)); err != nil {
		return err
	}
	if err := o.Fetch(ctx, b.Base, base); err != nil {
		return fmt.Errorf("fetch the base %s: %w", b.Base.Key, err)
	}
	if err := importBase(ctx, base, imported, b); err != nil {
		return errors.Join(err, removeFile(imported)) // the present database may need the room
	}
	return nil
}

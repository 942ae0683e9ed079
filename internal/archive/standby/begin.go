package standby

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// begin replaces the database by that of the newest base. Until that is complete, the former one is kept. broken is why it cannot be followed; nil if there is none. The
// error is broken, with the reason, if there is no newer base.
func (f *Follower) begin(ctx context.Context, broken *Broken) error {
	failed := func(err error) error {
		if broken != nil {
			return fmt.Errorf("%w; and it cannot begin again from a newer base: %w", broken, err)
		}
		return fmt.Errorf("begin from the newest base: %w", err)
	}
	choice, err := f.o.Find(ctx)
	if err != nil {
		return failed(err)
	}
	if f.db != nil && !newer(choice, f.db.position) {
		return failed(errors.New("the archive has no newer base yet"))
	}
	b := beginning{Choice: choice}
	if b.next, err = f.firstLink(ctx, choice); err == nil {
		b.start, err = f.startOf(ctx, choice.Timeline)
	}
	if err != nil {
		return failed(err)
	}
	if f.db != nil && choice.Timeline == f.db.position.Chain.Timeline && f.db.position.other(b.start) {
		return f.replaced()
	}
	if err := f.prepare(ctx, b); err != nil {
		return failed(err)
	}
	if err := f.swap(); err != nil {
		return failed(err)
	}
	f.damaged = 0
	f.search.progressed(f.o.Now())
	f.began(broken)
	return nil
}

// newer reports whether a base has more than the database.
func newer(c archive.Choice, p position) bool {
	if c.Timeline != p.Chain.Timeline {
		return c.Timeline > p.Chain.Timeline
	}
	return c.Base.Key != p.Base && c.Base.Point.Revision >= p.whole()
}

// firstLink returns the key of the first link after a base, if it exists. Its day follows from the link before it, which may not exist any more.
func (f *Follower) firstLink(ctx context.Context, c archive.Choice) (string, error) {
	names, release, err := archive.Near(ctx, f.o.Store, f.o.Root, c.Timeline, c.Chain.Last+1)
	if err != nil {
		return "", err
	}
	defer release()
	for _, n := range names.Links {
		if n.First() == c.Chain.Last+1 {
			return n.Key(f.o.Root), nil
		}
	}
	return "", nil
}

// prepare fetches a base, and makes a complete database of it beside the present one.
func (f *Follower) prepare(ctx context.Context, b beginning) error {
	base, imported := f.path(baseName), f.path(importedName)
	defer func() { _ = removeFile(base) }() // Open removes it, too
	if err := errors.Join(removeFile(base), removeFile(imported)); err != nil {
		return err
	}
	if err := f.o.Fetch(ctx, b.Base, base); err != nil {
		return fmt.Errorf("fetch the base %s: %w", b.Base.Key, err)
	}
	if err := importBase(ctx, base, imported, b); err != nil {
		return errors.Join(err, removeFile(imported)) // the present database may need the room
	}
	return nil
}

func (f *Follower) replaced() error {
	return f.broken(Replaced, fmt.Errorf("timeline %d has another start, so it is another archive", f.db.position.Chain.Timeline))
}

// startOf returns the SHA-256 of the start of a timeline. It is empty if the store does not return it: then it is not compared.
func (f *Follower) startOf(ctx context.Context, t archive.Timeline) (string, error) {
	start, err := archive.ReadStart(ctx, f.o.Store, f.o.Root, t)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, archive.ErrCorrupt), objstore.Refused(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return start.Hash(), nil
}

// swap puts the database that was prepared into the place of the present one.
func (f *Follower) swap() error {
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.path(importedName), f.path(DatabaseName)); err != nil {
		return err
	}
	if err := syncDir(f.o.Dir); err != nil {
		return err
	}
	f.o.durable()
	db, err := openDatabase(f.path(DatabaseName), f.o)
	if err != nil {
		return err
	}
	f.db = db
	return removeLinks(f.o.Dir, f.linkFile())
}

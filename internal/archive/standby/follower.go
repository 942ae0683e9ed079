package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// maxDamaged is how often the next link may be damaged or refused. A store may return a part of an object, so the first one is no proof.
const maxDamaged = 3

// Follower follows one archive. Only one of its methods may run at a time, except for Status.
type Follower struct {
	o  Options
	db *database // nil before the first base

	damaged int // in a row
	search  search
	status  reporter
}

// Outcome is what a step has done.
type Outcome int

const (
	// Idle means that the archive has nothing new.
	Idle Outcome = iota
	// Applied means that a link was applied. Another one may follow.
	Applied
	// Begun means that the database of a base is there.
	Begun
)

// Open opens the database in a directory, which is created, and continues what a killed process has left. The error is ErrFinished if Finish was called.
func Open(o Options) (f *Follower, err error) {
	defer guard(&err)()
	o = o.withDefaults()
	f = &Follower{o: o, status: reporter{status: Status{Since: o.Now()}}}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{importedName, baseName, partName} {
		if err := removeFile(o.path(name)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(o.path(deliveredName)); err == nil {
		return nil, ErrFinished
	}
	db, err := openDatabase(o.path(DatabaseName), o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	}
	f.db = db
	f.report(nil)
	return f, nil
}

// Close closes the database.
func (f *Follower) Close() error {
	if f.db == nil {
		return nil
	}
	err := f.db.close()
	f.db = nil
	return err
}

// Status returns how far the follower is. Its methods may run in the meantime.
func (f *Follower) Status() Status { return f.status.current() }

// LookAgain lets the next step that finds no link look for the next timeline, and list the archive, at once.
func (f *Follower) LookAgain() { f.search = search{} }

// position is how far the database is; nil before the first base.
func (f *Follower) position() *position {
	if f.db == nil {
		return nil
	}
	return &f.db.position
}

// link is the next link, once there is a database.
func (f *Follower) link() nextLink { return nextLink{f.o, f.db.position} }

// report reports how a step has ended.
func (f *Follower) report(err error) { f.o.Report(f.status.stepped(f.position(), err)) }

// Step does the next thing: it fetches a base, or applies the next link. An error is a *Broken if the archive cannot be followed further from here, and there is no
// newer base yet. After any error, the next call tries again.
func (f *Follower) Step(ctx context.Context) (done Outcome, err error) {
	defer func() { f.report(err) }()
	defer guard(&err)()
	if f.db == nil {
		return Begun, f.begin(ctx, nil)
	}
	err = f.next(ctx)
	switch {
	case err == nil:
		return Applied, nil
	case errors.Is(err, errNoLink):
		err = f.look(ctx)
	}
	if broken := IsBroken(err); broken != nil && broken.Cause != Replaced {
		return Begun, f.begin(ctx, broken)
	}
	return Idle, err
}

// next applies the next link.
func (f *Follower) next(ctx context.Context) error {
	err := f.db.resume(ctx)
	if err == nil {
		err = f.link().ready(ctx)
	}
	if err != nil {
		return f.doubt(err)
	}
	if err := f.link().applyTo(ctx, f.db); err != nil {
		if errors.Is(err, archive.ErrCorrupt) && IsBroken(err) == nil {
			err = f.db.position.broken(Damaged, err) // the link is as it was written, so its events do not follow
		}
		return err
	}
	f.damaged = 0
	f.search.progressed(f.o.Now())
	return nil
}

// look finds out whether there is no next link because the database has all.
func (f *Follower) look(ctx context.Context) error {
	now := f.o.Now()
	err := f.search.look(ctx, f.o, f.db.position, now)
	if err == nil {
		f.status.caughtUp(f.db.position, now)
	}
	return err
}

// doubt counts how often in a row the next link is damaged, or refused.
func (f *Follower) doubt(err error) error {
	refused := objstore.Refused(err)
	if !errors.Is(err, archive.ErrCorrupt) && !refused || IsBroken(err) != nil {
		return err
	}
	if f.damaged++; f.damaged < maxDamaged {
		return err
	}
	if refused {
		return f.db.position.broken(Unreadable, err)
	}
	return f.db.position.broken(Damaged, err)
}

// begin replaces the database by that of the newest base. Until that is complete, the former one is kept. broken is why it cannot be followed; nil if there is none. The
// error is broken, with the reason, if there is no newer base.
func (f *Follower) begin(ctx context.Context, broken *Broken) error {
	failed := func(err error) error {
		if broken != nil {
			return fmt.Errorf("%w; and it cannot begin again from a newer base: %w", broken, err)
		}
		return fmt.Errorf("begin from the newest base: %w", err)
	}
	present := f.position()
	b, err := findBeginning(ctx, f.o, present)
	if err != nil {
		return failed(err)
	}
	if present != nil && b.Timeline == present.Chain.Timeline && present.other(b.start) {
		return present.replaced()
	}
	if err := prepare(ctx, f.o, b); err != nil {
		return failed(err)
	}
	if err := f.swap(); err != nil {
		return failed(err)
	}
	f.damaged = 0
	f.search.progressed(f.o.Now())
	f.status.began(broken)
	return nil
}

// swap puts the database that was prepared into the place of the present one.
func (f *Follower) swap() error {
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.o.path(importedName), f.o.path(DatabaseName)); err != nil {
		return err
	}
	if err := syncDir(f.o.Dir); err != nil {
		return err
	}
	f.o.durable()
	db, err := openDatabase(f.o.path(DatabaseName), f.o)
	if err != nil {
		return err
	}
	f.db = db
	return removeLinks(f.o.Dir, f.link().file())
}

const (
	firstPause = time.Second
	longPause  = 30 * time.Second
)

// Run makes steps until ctx ends. After a failure it waits from 1 to 30 seconds.
func (f *Follower) Run(ctx context.Context) error {
	pause := time.Duration(0)
	for {
		done, err := f.Step(ctx)
		wait := f.o.Poll
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			pause = min(cmp.Or(2*pause, firstPause), longPause)
			wait = pause
		case done != Idle:
			pause = 0
			continue
		default:
			pause = 0
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

package standby

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
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

	mu     sync.Mutex
	status Status
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
	f = &Follower{o: o.withDefaults()}
	f.status.Since = f.o.Now()
	if err := os.MkdirAll(f.o.Dir, 0o700); err != nil {
		return nil, err
	}
	for _, name := range []string{importedName, baseName, partName} {
		if err := removeFile(f.path(name)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(f.path(deliveredName)); err == nil {
		return nil, ErrFinished
	}
	db, err := openDatabase(f.path(DatabaseName), f.o)
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

func (f *Follower) path(name string) string { return filepath.Join(f.o.Dir, name) }

// Close closes the database.
func (f *Follower) Close() error {
	if f.db == nil {
		return nil
	}
	err := f.db.close()
	f.db = nil
	return err
}

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
		err = f.ready(ctx)
	}
	if err != nil {
		return f.doubt(err)
	}
	if err := f.applyReady(ctx); err != nil {
		if errors.Is(err, archive.ErrCorrupt) && IsBroken(err) == nil {
			err = f.broken(Damaged, err) // the link is as it was written, so its events do not follow
		}
		return err
	}
	f.damaged = 0
	f.search.progressed(f.o.Now())
	return nil
}

// applyReady applies the link that is on the disk.
func (f *Follower) applyReady(ctx context.Context) error {
	path := f.linkFile()
	r, err := f.open(ctx, fileGetter(path))
	if err != nil {
		return err
	}
	if f.passed(r.Header) {
		err = f.db.pass(r.Header)
	} else {
		err = f.db.apply(ctx, r)
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if err := removeFile(path); err != nil {
		return err
	}
	return f.db.resume(ctx)
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
		return f.broken(Unreadable, err)
	}
	return f.broken(Damaged, err)
}

func (f *Follower) broken(cause Cause, err error) error {
	p := f.db.position
	return &Broken{Cause: cause, Timeline: p.Chain.Timeline, Revision: p.whole() + 1, Err: err}
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

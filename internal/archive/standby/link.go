package standby

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
)

// slack is how much larger than its records an object may be.
const slack = 2 << 20

// A link may take Options.Patience, and the time that its size takes at the slowest rate in bytes a second. A larger size than large gives no more time, because it
// is not checked before the link was read.
const slowest, large = 64 << 10, 64 << 20

// errSlow means that a link has not arrived in time.
var errSlow = errors.New("the store sends the next link of the archive too slowly")

// errNoLink means that the archive has no next link yet.
var errNoLink = errors.New("the archive has no next link")

// nextLink is the link of the archive that follows a position.
type nextLink struct {
	o     Options
	after position
}

// file returns the path of the link on the disk.
func (l nextLink) file() string {
	return l.o.path(fmt.Sprintf("%s%08d-%020d", linkPrefix, l.after.Chain.Timeline, l.after.Chain.Last+1))
}

// ready makes sure that the link is on the disk, and verified to its end.
func (l nextLink) ready(ctx context.Context) error {
	path := l.file()
	if _, err := os.Stat(path); err == nil {
		err := l.verify(ctx, fileGetter(path), nil)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := removeFile(path); err != nil { // it is fetched again
			return err
		}
	}
	return l.fetch(ctx, path)
}

// fetch writes the link to the disk. While it is received, it is compared with its header to its end.
func (l nextLink) fetch(ctx context.Context, path string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(l.o.Patience, func() { cancel(errSlow) })
	defer limit.Stop()
	body, err := l.o.Store.Get(ctx, l.after.key(l.o.Root))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoLink
	}
	if err != nil {
		return err
	}
	part := l.o.path(partName)
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, body.Close())
	}
	received := &tee{body: body, to: file, left: slack, sized: func(size int64) { limit.Reset(l.o.Patience + time.Duration(size/slowest)*time.Second) }}
	err = l.verify(ctx, received, received)
	if slow := context.Cause(ctx); err != nil && errors.Is(slow, errSlow) {
		err = slow
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, removeFile(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	err = syncDir(l.o.Dir)
	l.o.durable()
	return err
}

// getter is an objstore.Getter.
type getter interface {
	Get(ctx context.Context, key string) (io.ReadCloser, error)
}

// verify reads the link to its end. received is nil for one that is on the disk.
func (l nextLink) verify(ctx context.Context, from getter, received *tee) error {
	r, err := l.open(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if received != nil {
		received.left += r.Header.Size + r.Header.Size/16
		received.sized(min(r.Header.Size, large))
	}
	if err := l.compare(ctx, r); err != nil || received == nil {
		return err
	}
	_, err = io.Copy(io.Discard, received)
	return err
}

// compare reads the events of a link to its end.
func (l nextLink) compare(ctx context.Context, r *archive.Reader) error {
	if l.passed(r.Header) {
		return nil
	}
	for events := int64(0); ; events++ {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && events >= r.Header.Events {
			err = &archive.RevisionError{Revision: r.Header.First, Key: r.Key, Err: fmt.Errorf("%w: it has more than %d events", archive.ErrCorrupt, r.Header.Events)}
		}
		if err != nil {
			return err
		}
	}
}

// passed reports whether the database has all of a link, because the base is newer.
func (l nextLink) passed(h archive.Header) bool { return h.Last <= l.after.whole() }

// open opens the link. The error is a *Broken if it cannot be applied to the database.
func (l nextLink) open(ctx context.Context, from getter) (*archive.Reader, error) {
	p := l.after
	r, err := archive.OpenSegment(ctx, from, l.o.Root, p.key(l.o.Root))
	if err != nil {
		return nil, err
	}
	if err := l.fits(r); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if l.passed(r.Header) {
		return r, nil
	}
	if err := r.Decode(ctx, l.o.Identities); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fits returns why the opened link cannot be applied to the database; nil if it can.
func (l nextLink) fits(r *archive.Reader) error {
	p, h := l.after, r.Header
	if _, err := p.Chain.Follow(r.Key, h); err != nil {
		return err // it is damaged, unless that lasts
	}
	from, to := h.Auth()
	switch {
	case l.passed(h):
		return nil
	case h.Gap():
		return p.broken(Gap, fmt.Errorf("the revisions %d to %d were lost: %s", h.First, h.Last, h.Reason))
	case !p.Auth.Keeps(from), !p.Auth.Keeps(to):
		return p.broken(UsersChanged, fmt.Errorf("users, roles or authentication have changed between the revisions %d and %d: the auth revision is %s and then %s, but %s in the base",
			h.First, h.Last, from, to, p.Auth))
	}
	return nil
}

// applyTo applies the link that is on the disk to the database, whose position it follows.
func (l nextLink) applyTo(ctx context.Context, d *database) error {
	path := l.file()
	r, err := l.open(ctx, fileGetter(path))
	if err != nil {
		return err
	}
	if l.passed(r.Header) {
		err = d.pass(r.Header)
	} else {
		err = d.apply(ctx, r)
	}
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if err := removeFile(path); err != nil {
		return err
	}
	return d.resume(ctx)
}

// tee writes what it reads of an object to a file, up to a limit.
type tee struct {
	body io.ReadCloser
	to   io.Writer
	left int64
	// sized is called with the size in the header.
	sized func(int64)
}

// Get returns the object, whatever its key.
func (t *tee) Get(context.Context, string) (io.ReadCloser, error) { return t, nil }

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	if t.left -= int64(n); t.left < 0 {
		return 0, fmt.Errorf("%w: the object is larger than its header says", archive.ErrCorrupt)
	}
	if _, failed := t.to.Write(p[:n]); failed != nil {
		return n, failed
	}
	return n, err
}

func (t *tee) Close() error { return t.body.Close() }

// fileGetter returns one file, whatever the key.
type fileGetter string

func (f fileGetter) Get(context.Context, string) (io.ReadCloser, error) { return os.Open(string(f)) }

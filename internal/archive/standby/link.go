package standby

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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

// linkFile returns the path of the next link on the disk.
func (f *Follower) linkFile() string {
	p := f.db.position
	return filepath.Join(f.o.Dir, fmt.Sprintf("%s%08d-%020d", linkPrefix, p.Chain.Timeline, p.Chain.Last+1))
}

// ready makes sure that the next link is on the disk, and verified to its end.
func (f *Follower) ready(ctx context.Context) error {
	path := f.linkFile()
	if _, err := os.Stat(path); err == nil {
		err := f.verify(ctx, fileGetter(path), nil)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := removeFile(path); err != nil { // it is fetched again
			return err
		}
	}
	return f.fetch(ctx, path)
}

// fetch writes the next link to the disk. While it is received, it is compared with its header to its end.
func (f *Follower) fetch(ctx context.Context, path string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(f.o.Patience, func() { cancel(errSlow) })
	defer limit.Stop()
	body, err := f.o.Store.Get(ctx, f.db.position.key(f.o.Root))
	if errors.Is(err, fs.ErrNotExist) {
		return errNoLink
	}
	if err != nil {
		return err
	}
	part := filepath.Join(f.o.Dir, partName)
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Join(err, body.Close())
	}
	received := &tee{body: body, to: file, left: slack, sized: func(size int64) { limit.Reset(f.o.Patience + time.Duration(size/slowest)*time.Second) }}
	err = f.verify(ctx, received, received)
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
	err = syncDir(f.o.Dir)
	f.o.durable()
	return err
}

// getter is an objstore.Getter.
type getter interface {
	Get(ctx context.Context, key string) (io.ReadCloser, error)
}

// verify reads the next link to its end. received is nil for one that is on the disk.
func (f *Follower) verify(ctx context.Context, from getter, received *tee) error {
	r, err := f.open(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	if received != nil {
		received.left += r.Header.Size + r.Header.Size/16
		received.sized(min(r.Header.Size, large))
	}
	if err := f.compare(ctx, r); err != nil || received == nil {
		return err
	}
	_, err = io.Copy(io.Discard, received)
	return err
}

// compare reads the events of a link to its end.
func (f *Follower) compare(ctx context.Context, r *archive.Reader) error {
	if f.passed(r.Header) {
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
func (f *Follower) passed(h archive.Header) bool { return h.Last <= f.db.position.whole() }

// open opens the next link. The error is a *Broken if it cannot be applied to the database.
func (f *Follower) open(ctx context.Context, from getter) (*archive.Reader, error) {
	p := f.db.position
	r, err := archive.OpenSegment(ctx, from, f.o.Root, p.key(f.o.Root))
	if err != nil {
		return nil, err
	}
	if err := f.fits(r); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if f.passed(r.Header) {
		return r, nil
	}
	if err := r.Decode(ctx, f.o.Identities); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fits reports whether a link follows from the database.
func (f *Follower) fits(r *archive.Reader) error {
	p, h := f.db.position, r.Header
	broken := func(cause Cause, err error) error {
		return &Broken{Cause: cause, Timeline: p.Chain.Timeline, Revision: p.whole() + 1, Err: err}
	}
	if _, err := p.Chain.Follow(r.Key, h); err != nil {
		return err // it is damaged, unless that lasts
	}
	from, to := h.Auth()
	switch {
	case f.passed(h):
		return nil
	case h.Gap():
		return broken(Gap, fmt.Errorf("the revisions %d to %d were lost: %s", h.First, h.Last, h.Reason))
	case !p.Auth.Keeps(from), !p.Auth.Keeps(to):
		return broken(UsersChanged, fmt.Errorf("users, roles or authentication have changed between the revisions %d and %d: the auth revision is %s and then %s, but %s in the base",
			h.First, h.Last, from, to, p.Auth))
	}
	return nil
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

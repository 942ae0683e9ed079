package follower

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

var (
	// ErrSource means that the first location failed during a copy, and not the second one.
	ErrSource = errors.New("read the archive in the first location")
	// ErrOtherCopy means that the second location has another object under the key of a copy. It is never replaced.
	ErrOtherCopy = errors.New("the second location has another object under this key")
)

// Copying copies objects of an archive from one store to another one, byte for byte. Their keys differ in the root only.
type Copying struct {
	From, To         objstore.Store
	FromRoot, ToRoot string
	// Admit waits until that many bytes of memory are free for a copy. Before it waits, it calls waits: what waits holds no object. It may be nil.
	Admit func(ctx context.Context, bytes int64, waits func()) (Held, error)
	// Patience is how long the copy of a link may take, beside the time that its size takes at the slowest rate. Otherwise a location that accepts a byte
	// from time to time would hold the memory for ever. Default: 5 minutes.
	Patience time.Duration
}

// Held is the memory of a copy.
type Held struct {
	Release func()
	// Crowded returns whether copies of other namespaces wait for it. It may be nil.
	Crowded func() bool
	// Floor is how many bytes a second the copy must move while others wait. Default: 64 KiB.
	Floor int64
	// Ended is called with the error of the copy. It may be nil.
	Ended func(error)
}

// Slowest is the rate in bytes a second below which a copy ends. A link of one megabit has twice as much.
const Slowest = 64 << 10

// large is more than a link has, except for one with an extraordinary change. The size in a header is not checked before the link was read, so a larger one
// gives no more time.
const large = 64 << 20

// limit bounds the copy of a link of that size.
func (c Copying) limit(ctx context.Context, size int64) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(c.Patience, 5*time.Minute)+time.Duration(min(max(size, 0), large)/Slowest)*time.Second)
}

// Linked is a link that the second location has.
type Linked struct {
	Header archive.Header
	// Bytes of the object, if it was copied now. Existed means that it was there before.
	Bytes   int64
	Existed bool
}

// Lacks reports whether an error means that the first location does not return this one object: it does not exist any more, is damaged, or is
// refused, for example because of its storage class.
func Lacks(err error) bool {
	if !errors.Is(err, ErrSource) || errors.Is(err, objstore.ErrNoBucket) {
		return false
	}
	return errors.Is(err, archive.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) || objstore.Refused(err)
}

// content reads a start, which is one line.
func (c Copying) content(ctx context.Context, key string) ([]byte, error) {
	body, err := c.From.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, archive.MaxHeader))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return content, nil
}

// End returns the header of a link that both locations have. If the second one does not return it, for example because of its storage class, it is that of
// the first one.
func (c Copying) End(ctx context.Context, n archive.Name) (archive.Header, error) {
	h, err := archive.ReadHeader(ctx, c.To, c.ToRoot, n.Key(c.ToRoot))
	if !objstore.Refused(err) {
		return h, err
	}
	if h, err = archive.ReadHeader(ctx, c.From, c.FromRoot, n.Key(c.FromRoot)); err != nil {
		return h, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return h, nil
}

// existing compares a link that the second location has. An earlier attempt, whose answer was lost, may have written it.
func (c Copying) existing(ctx context.Context, n archive.Name, h archive.Header) (Linked, error) {
	there, err := archive.ReadHeader(ctx, c.To, c.ToRoot, n.Key(c.ToRoot))
	switch {
	case errors.Is(err, archive.ErrCorrupt), err == nil && there.Hash() != h.Hash():
		return Linked{}, fmt.Errorf("%w: %s", ErrOtherCopy, n.Key(c.ToRoot))
	case err != nil && !objstore.Refused(err): // one in an archive class cannot be compared
		return Linked{}, err
	}
	return Linked{Header: h, Existed: true}, nil
}

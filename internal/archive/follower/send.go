package follower

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/turns"
)

// Link copies one link. Its header is read first, and its records are compared with the header while they are sent, unless they are encrypted. A
// link that the second location has is compared by the hash of its header, which has the SHA-256 of its records.
func (c Copying) Link(ctx context.Context, n archive.Name) (Linked, error) {
	link, err := c.open(ctx, n)
	if err != nil {
		return Linked{}, err
	}
	defer func() { link.close() }()
	if c.Admit == nil {
		return c.send(ctx, n, link, Held{})
	}
	size, waited := link.size(), false
	held, err := c.Admit(ctx, size, func() { waited = true; link.close() })
	if err != nil {
		return Linked{}, err
	}
	defer held.Release()
	if waited {
		again, err := c.open(ctx, n)
		if err != nil {
			return Linked{}, err
		}
		if link = again; link.size() > size {
			return Linked{}, fmt.Errorf("%w: %s has become larger", ErrSource, link.key)
		}
	}
	copied, err := c.send(ctx, n, link, held)
	if held.Ended != nil {
		held.Ended(err)
	}
	return copied, err
}

// send copies a link that was opened.
func (c Copying) send(ctx context.Context, n archive.Name, link *opened, held Held) (Linked, error) {
	limited, cancel := c.limit(ctx, link.header.Size)
	defer cancel()
	body := newCheckedLink(ctx, io.MultiReader(&link.head, link.object), link, n)
	defer body.stop()
	limited, end := yielding(limited, body, held)
	defer end()
	defer context.AfterFunc(limited, func() { body.late(); link.unread() })() // a store that reads the whole body first does not look at its context
	err := c.To.Put(limited, n.Key(c.ToRoot), body)
	gave := context.Cause(limited)
	switch {
	case err != nil && errors.Is(gave, turns.ErrOthersWaited):
		return Linked{}, gave
	case body.failure(limited) != nil:
		return Linked{}, fmt.Errorf("%w: %w", ErrSource, body.failure(limited)) // the store's error only repeats it
	case errors.Is(err, fs.ErrExist):
		return c.existing(ctx, n, link.header)
	case err != nil:
		return Linked{}, err
	}
	return Linked{Header: link.header, Bytes: body.size.Load()}, nil
}

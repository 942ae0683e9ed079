package archiver

import (
	"bytes"
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

// asks is how often the archiver asks for the end of a timeline that the store has not refused. A store may fail for some seconds.
const asks = 3

// ErrUnreturned means that the store accepts objects and does not return them. Another timeline would not help: it could not be read either.
var ErrUnreturned = errors.New("the store has accepted a new object and does not return it")

// unreadEnd returns why the start or the last listed link of a timeline cannot be read: the store refuses it, has lost it, or only lists it. It
// returns nil for a timeline that can be extended, and for an error that may concern more than one object.
func (a *Archiver) unreadEnd(ctx context.Context, names archive.Names) error {
	pause := a.RetryMin
	for asked := 1; ; asked++ {
		unread := a.readEnd(ctx, names)
		if !objstore.Unread(ctx, unread) {
			return nil
		}
		if objstore.Refused(unread) || asked == asks {
			return unread
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		pause = min(2*pause, a.RetryMax)
	}
}

func (a *Archiver) readEnd(ctx context.Context, names archive.Names) error {
	if _, err := archive.ReadStart(ctx, a.Store, a.Root, names.Timeline); err != nil {
		return err
	}
	n := len(names.Links)
	if n == 0 {
		return nil
	}
	_, err := archive.ReadHeader(ctx, a.Store, a.Root, names.Links[n-1].Key(a.Root))
	return err
}

// returnsNew reports whether the store returns a new object: then another timeline can be read, whatever else is cold or lost. It writes a small
// object below the root, reads it and deletes it. The error is ErrUnreturned if the store refuses to return it. Any other error may pass.
func (a *Archiver) returnsNew(ctx context.Context) error {
	const folder = "probes/"
	var errs objstore.Errors // of those that a killed operator left; one under a retention period is kept
	err := objstore.EachListed(ctx, 1, a.Store.List(objstore.Unheld(ctx), a.Root+folder), &errs, func(o objstore.Object) error {
		if err := a.Store.Delete(ctx, o.Key); !errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	})
	if err = cmp.Or(err, errs.Err()); err != nil {
		return fmt.Errorf("delete earlier objects that test the store: %w", err)
	}
	now := a.Now().UTC()
	key := a.Root + folder + now.Format("2006010215") // at most one in an hour stays if the store deletes nothing
	content := []byte("backup-operator tests whether the store returns new objects: " + now.Format(time.RFC3339Nano) + "\n")
	err = a.probe(ctx, key, content)
	if errors.Is(err, fs.ErrExist) { // it may be older than what has changed since
		key = a.Root + folder + now.Format("20060102150405.000000000")
		err = a.probe(ctx, key, content)
	}
	return err
}

// probe writes an object, reads it and deletes it. The error is fs.ErrExist if an earlier one can be read.
func (a *Archiver) probe(ctx context.Context, key string, content []byte) error {
	exists := a.Store.Put(ctx, key, objstore.NewMetadata(content))
	if exists != nil && !errors.Is(exists, fs.ErrExist) {
		return fmt.Errorf("write an object that tests the store: %w", exists)
	}
	body, err := a.Store.Get(ctx, key)
	switch {
	case objstore.Refused(err):
		err = fmt.Errorf("%w: %w", ErrUnreturned, err)
	case err != nil:
		err = fmt.Errorf("read the object that tests the store: %w", err)
	default:
		var read []byte
		read, err = io.ReadAll(io.LimitReader(body, int64(len(content))+1))
		if err = errors.Join(err, body.Close()); err == nil && exists == nil && !bytes.Equal(read, content) {
			err = fmt.Errorf("the store returns %s with another content than was written", key)
		}
	}
	if deleted := a.Store.Delete(ctx, key); deleted != nil && !errors.Is(deleted, fs.ErrPermission) && err == nil && exists == nil {
		err = fmt.Errorf("delete the object that tests the store: %w", deleted)
	}
	if err == nil {
		err = exists
	}
	return err
}

package archiver

import (
	"context"
	"errors"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// maxAsked is the maximum number of objects that the archiver asks for until the store returns one.
const maxAsked = 16

// refuses reports whether a store answers that it does not return an object, for example because a lifecycle rule moved it to an archive tier.
func refuses(err error) bool {
	return errors.Is(err, fs.ErrPermission) && !errors.Is(err, objstore.ErrNoBucket)
}

// endRefused reports whether the store refuses the start or the last listed link of a timeline, although it returns another object of the archive.
// Such a timeline cannot be extended. A store that returns no object at all is not permitted to be read, and another timeline would not help.
func (a *Archiver) endRefused(ctx context.Context, names archive.Names) bool {
	keys := []string{archive.StartKey(a.Root, names.Timeline)}
	for _, link := range names.Links {
		keys = append(keys, link.Key(a.Root))
	}
	refused, returned := false, false
	for _, key := range keys {
		_, err := objstore.Gone(ctx, a.Store, key)
		refused, returned = refused || refuses(err), returned || err == nil
	}
	return refused && (returned || a.returnsAny(ctx))
}

// returnsAny reports whether the store returns an object of the archive. It passes over those in an archive tier, as the listing says.
func (a *Archiver) returnsAny(ctx context.Context) bool {
	asked := 0
	for object, err := range a.Store.List(objstore.Unheld(ctx), a.Root) {
		if err != nil || asked == maxAsked {
			return false
		}
		if object.Cold {
			continue
		}
		if gone, err := objstore.Gone(ctx, a.Store, object.Key); err == nil && !gone {
			return true
		}
		asked++
	}
	return false
}

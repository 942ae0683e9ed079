package snapshot

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Unread returns why the store does not return the object of a snapshot, although it is listed: a lifecycle rule moved it to an archive class, for
// example. A person may have made a copy of it readable for some days, so the store is asked. It returns nil if the object can be read. err is an
// error that may concern more than this object.
func (i Item) Unread(ctx context.Context, store objstore.Getter) (unread, err error) {
	gone, err := objstore.Gone(ctx, store, i.Key)
	switch {
	case objstore.Unread(ctx, err):
		return err, nil
	case err != nil:
		return nil, fmt.Errorf("ask whether the snapshot %s can be read: %w", i.Key, err)
	case gone:
		return fmt.Errorf("the snapshot %s was deleted", i.Key), nil
	}
	return nil, nil
}

package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// maxAsked is how many objects without a listed manifest one run asks the store about: the newest ones.
const maxAsked = 64

// Unfinished returns the objects of series that have no manifest in the listing, newest first. The store may have refused the manifest, a person may
// have deleted it, or the listing may omit it. So the object may be a complete snapshot, and its name shows that the cluster was there.
func (x Index) Unfinished() []Item {
	items := make([]Item, 0, len(x.Uncommitted))
	for _, object := range x.Uncommitted {
		named, _ := snapshot.ParseKey(object.Key)
		items = append(items, Item{Key: object.Key, Series: named.Series, Time: named.Time, Size: object.Size, Listed: true, Verdict: x.verdict(object.Key), Stored: object.ModTime, Cold: object.Cold})
	}
	slices.SortFunc(items, newestFirst)
	return items
}

// Ask asks the store for the manifests that the listing lacks. Unless the store answers that a manifest does not exist, its object is a snapshot like
// the others: the next reader of the manifest gets the error of the store. Ask only fails if ctx has ended.
func (x *Index) Ask(ctx context.Context, store objstore.Getter) error {
	unfinished := x.Unfinished()
	for _, item := range unfinished[:min(len(unfinished), maxAsked)] {
		gone, _ := objstore.Gone(ctx, store, snapshot.ManifestKey(item.Key))
		if ctx.Err() != nil {
			return fmt.Errorf("ask for manifests that a listing omits: %w", context.Cause(ctx))
		}
		if !gone {
			x.Commit(item)
		}
	}
	return nil
}

// ReadDrafts adds what the drafts of the unfinished objects say: after which recovery of the cluster they were taken, for example. unread says that
// the store does not return one of them.
func (k Known) ReadDrafts(ctx context.Context, store objstore.Getter, x Index) (unread, err error) {
	unfinished := x.Unfinished()
	for _, item := range unfinished[:min(len(unfinished), maxAsked)] {
		for _, name := range x.drafts[item.Key] {
			m, failed := snapshot.ReadManifestAt(ctx, store, item.Key, name, snapshot.Anyone)
			switch {
			case ctx.Err() != nil:
				return nil, fmt.Errorf("read the drafts of manifests: %w", context.Cause(ctx))
			case failed == nil && m.Size == item.Size && snapshot.Agrees(item.Key, m):
				k[item.Key] = Reading{Manifest: m}
			case failed != nil && !snapshot.NoDraft(failed):
				unread = fmt.Errorf("read the draft of a manifest: %w", failed)
			}
		}
	}
	return unread, nil
}

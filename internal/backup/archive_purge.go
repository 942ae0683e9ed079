package backup

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// purgers is how many objects of an archive are deleted at the same time.
const purgers = 16

// purgeArchive deletes the timelines that this EtcdBackup has begun. The start of a timeline is the last object of it, so
// that a repeated attempt still knows whose it is.
func (t *job) purgeArchive(ctx context.Context, o jobSpec, store objstore.Store) error {
	root := o.archiveRoot()
	all, err := archive.List(ctx, store, root)
	if err != nil {
		return err
	}
	for _, names := range slices.Backward(all) {
		if !names.Started {
			continue // its owner is unknown
		}
		start, err := archive.ReadStart(ctx, store, root, names.Timeline)
		if err != nil {
			return err
		}
		if start.Writer != o.mark() {
			continue
		}
		if err := deleteAll(ctx, store, names.Links); err != nil {
			return err
		}
		if err := deleteAll(ctx, store, []string{archive.StartKey(root, names.Timeline)}); err != nil {
			return err
		}
	}
	return nil
}

func deleteAll(ctx context.Context, store objstore.Store, keys []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(purgers)
	for _, key := range keys {
		group.Go(func() error {
			if err := store.Delete(ctx, key); err != nil {
				return fmt.Errorf("delete the continuous archive: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

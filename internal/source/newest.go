package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// maxNewest is how many snapshots are tried as the newest base, newest first.
const maxNewest = 20

// FindNewest finds the newest snapshot in the folder of src that the continuous archive has a place for: the base that a standby begins with. The snapshots with
// the keys without are not used. The errors are those of FindPoint.
func FindNewest(ctx context.Context, src v1beta2.RestoreSource, by By, c Choice, without ...string) (Point, error) {
	if by.Signers.Required() {
		return Point{}, fmt.Errorf("find the newest base: %w: the continuous archive has no signatures", snapshot.ErrNotSigned)
	}
	store, err := open(ctx, src, by)
	if err != nil {
		return Point{}, err
	}
	return c.findNewest(ctx, store, src, without)
}

// findNewest is FindNewest for a store that is open.
func (c Choice) findNewest(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, without []string) (Point, error) {
	folder, err := c.read(ctx, store, src, archive.Target{Revision: math.MaxInt64}, without)
	if err != nil {
		return Point{}, err
	}
	sorted := slices.SortedStableFunc(slices.Values(folder.own()), func(a, b archive.Base) int {
		return cmp.Or(b.Point.At.Compare(a.Point.At), b.Auth.Compare(a.Auth))
	})
	p, refused := Point{Base: src, Store: store, Root: folder.root}, cmp.Or(folder.unread, errors.New("it has no snapshot that a standby can begin with"))
	for _, b := range sorted[:min(len(sorted), maxNewest)] {
		p.Choice, err = folder.search(archive.Target{Revision: b.Point.Revision}).find(ctx)
		if archive.IsRefusal(err) {
			refused = cmp.Or(folder.unread, err)
			continue
		}
		if err == nil {
			var failed bool
			if failed, err = snapshot.FailedTest(ctx, store, p.Choice.Base.Key); failed { // the listing has omitted it
				return c.findNewest(ctx, store, src, append(slices.Clip(without), p.Choice.Base.Key))
			}
		}
		if err != nil {
			return Point{}, fmt.Errorf("find the newest base in the archive %s/%s: %w", src.Bucket, p.Root, err)
		}
		return folder.of(p), nil
	}
	return Point{}, fmt.Errorf("find the newest base in the archive %s/%s: %w", src.Bucket, folder.root, refused)
}

// own returns the bases of the cluster that the choice is about. Those of a cluster that was deleted, and had the same name, are not followed.
func (f folder) own() []archive.Base { return f.histories.ownBases(f.bases, f.known) }

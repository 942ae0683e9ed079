package standby

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// maxTried is how many bases are tried, newest first.
const maxTried = 20

// Newest returns the newest base that the archive has a place for, for Options.Find. The arguments are those of archive.FindOf.
func Newest(ctx context.Context, store objstore.Store, root string, of func(clusterID string) bool, bases []archive.Base, seen []archive.Seen) (archive.Choice, error) {
	sorted := slices.SortedStableFunc(slices.Values(bases), func(a, b archive.Base) int {
		return cmp.Or(b.Point.At.Compare(a.Point.At), b.Auth.Compare(a.Auth))
	})
	refused := errors.New("there is no snapshot that a replay can begin with")
	for _, b := range sorted[:min(len(sorted), maxTried)] {
		choice, err := archive.FindOf(ctx, store, root, of, bases, seen, archive.Progress{}, archive.Target{Revision: b.Point.Revision})
		if err == nil || !archive.IsRefusal(err) {
			return choice, err
		}
		refused = err
	}
	return archive.Choice{}, refused
}

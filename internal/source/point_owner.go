package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// find looks in the history of the own cluster first. Another cluster with the same name may have archived into the folder. If it was deleted
// before the own one began, its history counts for a point before the own one. A point after the end of the own one is refused, because a
// revision of that number in the history of the other has other data. If the other was not deleted, it is in another Kubernetes.
func (c Choice) find(ctx context.Context, store objstore.Store, root string, bases []archive.Base, known snapshot.Known, progress archive.Progress, target archive.Target) (archive.Choice, error) {
	own := c.own(bases, known)
	choice, err := archive.Find(ctx, store, root, own, progress, target)
	var refusal *archive.Refusal
	if len(own) == len(bases) || !errors.As(err, &refusal) {
		return choice, err
	}
	earlier := predecessors(own, bases)
	if len(earlier) == len(own) {
		return choice, err
	}
	if refusal.Before != nil {
		return choice, fmt.Errorf("%w; an EtcdCluster that was deleted had the same name: to restore its data, write its cluster ID into select.clusterID", err)
	}
	return archive.Find(ctx, store, root, earlier, progress, target)
}

// predecessors returns the own bases, and those of cluster IDs that began before the first of the own ones.
func predecessors(own, bases []archive.Base) []archive.Base {
	began := map[string]time.Time{}
	for _, b := range bases {
		if at, found := began[b.ClusterID]; !found || b.Point.At.Before(at) {
			began[b.ClusterID] = b.Point.At
		}
	}
	mine, first := map[string]bool{}, time.Time{}
	for _, b := range own {
		if mine[b.ClusterID] = true; first.IsZero() || began[b.ClusterID].Before(first) {
			first = began[b.ClusterID]
		}
	}
	return slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool { return !mine[b.ClusterID] && !began[b.ClusterID].Before(first) })
}

// ownerUID returns the UID of the EtcdCluster that the restore is about; empty if it is not known.
func (c Choice) ownerUID(bases []archive.Base, known snapshot.Known) string {
	for _, b := range bases {
		if b.ClusterID == c.Prefer {
			return known[b.Key].Manifest.Cluster.UID
		}
	}
	return c.UID
}

// own returns the bases of the cluster that the restore is about, and all of them if that is not known.
func (c Choice) own(bases []archive.Base, known snapshot.Known) []archive.Base {
	uid := c.ownerUID(bases, known)
	own := slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool {
		return b.ClusterID != c.Prefer && (uid == "" || known[b.Key].Manifest.Cluster.UID != uid)
	})
	if len(own) == 0 {
		return bases
	}
	return own
}

// oneOwner returns ErrAmbiguous if the bases are of several EtcdClusters with one name, and the restore is about none of them. A snapshot is
// refused in the same way, see ofOneOwner.
func (c Choice) oneOwner(bases []archive.Base, known snapshot.Known) error {
	uids := map[string]string{} // of each UID, a cluster ID
	for _, b := range bases {
		if uid := known[b.Key].Manifest.Cluster.UID; uid != "" {
			uids[uid] = b.ClusterID
		}
		if b.ClusterID == c.Prefer {
			return nil
		}
	}
	if _, ours := uids[c.UID]; len(uids) < 2 || ours {
		return nil
	}
	var names []string
	for uid, id := range uids {
		names = append(names, fmt.Sprintf("%s (UID of the EtcdCluster %s)", id, uid))
	}
	slices.Sort(names)
	return fmt.Errorf("%w: they have the same name, and these cluster IDs: %s: write one of them into select.clusterID",
		ErrAmbiguous, strings.Join(names[:min(len(names), shownCandidates)], ", "))
}

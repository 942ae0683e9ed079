package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// search looks for a target in the archive of one folder.
type search struct {
	Choice
	histories
	store    objstore.Store
	root     string
	bases    []archive.Base
	seen     []archive.Seen
	known    catalog.Known
	progress archive.Progress
	target   archive.Target
}

// find looks in the history of the own cluster first. Another cluster with the same name may have archived into the folder. If it was deleted
// before the own one began, its history counts for a point before the own one. A point after the end of the own one is refused, because a
// revision of that number in the history of the other has other data. If the other was not deleted, it is in another Kubernetes.
func (s search) find(ctx context.Context) (archive.Choice, error) {
	own := s.ownBases(s.bases, s.known)
	choice, err := s.in(ctx, own, nil)
	var refusal *archive.Refusal
	if !errors.As(err, &refusal) {
		return choice, err
	}
	earlier, before := predecessors(own, s.bases), s.beforeOwn()
	if before && refusal.Before == nil && !refusal.Ended() && len(earlier) > len(own) {
		choice, err = s.in(ctx, earlier, s.preceding)
	}
	if errors.As(err, &refusal) && len(own) < len(s.bases) && (!before || refusal.Before != nil || refusal.Ended()) {
		err = fmt.Errorf("%w; an EtcdCluster that was deleted had the same name: to restore its data, write its cluster ID into select.clusterID", err)
	}
	if errors.As(err, &refusal) && refusal.Ended() {
		err = fmt.Errorf("%w; to restore older data, name a snapshot; if the store did not list or return all objects, create the EtcdRestore again", err)
	}
	return choice, err
}

// beforeOwn reports whether the target is before all that the snapshots show of the own cluster.
func (s search) beforeOwn() bool {
	return !slices.ContainsFunc(s.seen, func(x archive.Seen) bool {
		if s.target.Revision > 0 {
			return s.own[x.ClusterID] && x.Revision <= s.target.Revision
		}
		return s.own[x.ClusterID] && !x.At.After(s.target.Time)
	})
}

// in looks in the histories of these bases, in those that may be of the own cluster, and in those of the cluster IDs also. One of the last may have no
// base that can be used, but it had the revisions after those of the ones before it.
func (s search) in(ctx context.Context, bases []archive.Base, also map[string]bool) (archive.Choice, error) {
	of := func(id string) bool {
		if s.ClusterID != "" {
			return id == s.ClusterID
		}
		return !s.others[id] || also[id] || slices.ContainsFunc(bases, func(b archive.Base) bool { return b.ClusterID == id })
	}
	return archive.FindOf(ctx, s.store, s.root, of, bases, s.seen, s.progress, s.target)
}

// predecessors returns the own bases, and those of cluster IDs that began before the first of the own ones.
func predecessors(own, bases []archive.Base) []archive.Base {
	began := map[string]time.Time{}
	for _, b := range bases {
		began[b.ClusterID] = archive.Earlier(began[b.ClusterID], b.Seen().At)
	}
	mine, first := map[string]bool{}, time.Time{}
	for _, b := range own {
		if mine[b.ClusterID] = true; first.IsZero() || began[b.ClusterID].Before(first) {
			first = began[b.ClusterID]
		}
	}
	return slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool { return !mine[b.ClusterID] && !began[b.ClusterID].Before(first) })
}

// histories says whose the cluster IDs in a folder are.
type histories struct {
	prefer, uid string          // the cluster ID and the UID of the EtcdCluster that the restore is about; empty if they are not known
	preceding   map[string]bool // those of others that began before the own ones
	own, others map[string]bool // cluster IDs. One that is in neither may be of the own cluster: no manifest of it can be read
}

// histories compares the cluster IDs of all snapshots that are listed with the cluster that the restore is about. If none is its own, it is about
// all of them. For this, the snapshots that cannot be bases count, too: a history that cannot be restored must not look like one that never was.
func (c Choice) histories(ctx context.Context, store objstore.Store, listed []candidate, known catalog.Known) (histories, error) {
	reads := func(e candidate) bool {
		reading, found := known[e.Key]
		return found && reading.Err == nil && snapshot.Agrees(e.Key, reading.Manifest)
	}
	readable := map[string]bool{}
	for _, e := range listed {
		readable[e.clusterID] = readable[e.clusterID] || reads(e)
	}
	var unread []catalog.Item
	for _, e := range newestOfEach(listed) {
		if !readable[e.clusterID] {
			unread = append(unread, e.Item)
		}
	}
	if _, err := readEach(ctx, store, known, unread, snapshot.Anyone); err != nil {
		return histories{}, err
	}
	h := histories{prefer: c.Prefer, uid: c.UID, own: map[string]bool{}, others: map[string]bool{}}
	for _, e := range slices.Backward(listed) {
		if e.clusterID == c.Prefer && reads(e) {
			h.uid = known[e.Key].Manifest.Cluster.UID
		}
	}
	for _, e := range listed {
		same := e.clusterID == c.Prefer || h.uid != "" && reads(e) && known[e.Key].Manifest.Cluster.UID == h.uid
		h.own[e.clusterID] = h.own[e.clusterID] || same
		h.others[e.clusterID] = h.others[e.clusterID] || reads(e)
	}
	maps.DeleteFunc(h.own, func(_ string, own bool) bool { return !own })
	maps.DeleteFunc(h.others, func(id string, others bool) bool { return !others || h.own[id] || len(h.own) == 0 })
	h.preceding = h.earlier(listed)
	return h, nil
}

// earlier returns the cluster IDs of others that have a snapshot from before all own ones.
func (h histories) earlier(listed []candidate) map[string]bool {
	began := func(e candidate) time.Time { return archive.Earlier(e.Time, e.Stored) } // a clock may have been ahead
	var first time.Time
	for _, e := range listed {
		if h.own[e.clusterID] {
			first = archive.Earlier(first, began(e))
		}
	}
	ids := map[string]bool{}
	for _, e := range listed {
		if h.others[e.clusterID] && began(e).Before(first) {
			ids[e.clusterID] = true
		}
	}
	return ids
}

// ownBases returns the bases of the own cluster. They are all bases if no snapshot is its own.
func (h histories) ownBases(bases []archive.Base, known catalog.Known) []archive.Base {
	if len(h.own) == 0 {
		return bases
	}
	return slices.DeleteFunc(slices.Clone(bases), func(b archive.Base) bool {
		return !h.own[b.ClusterID] || b.ClusterID != h.prefer && known[b.Key].Manifest.Cluster.UID != h.uid
	})
}

// oneOwner returns ErrAmbiguous if the bases are of several EtcdClusters with one name, and the restore is about none of them. A snapshot is
// refused in the same way, see ofOneOwner.
func (c Choice) oneOwner(bases []archive.Base, known catalog.Known) error {
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

package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

const (
	// ownersLimit is the maximum number of cluster IDs whose owner is read.
	ownersLimit = 1000
	// ownerTries is how many manifests of a cluster ID are read, until one can be read.
	ownerTries = 3
	// shownCandidates is how many cluster IDs the error of an ambiguous choice lists.
	shownCandidates = 6
)

// ofOneOwner returns the snapshots of one EtcdCluster. Clusters of the same name exist in several Kubernetes clusters
// that share a bucket, and one that was created again has the same name, too. If the snapshots are of several
// EtcdClusters, it takes those of the preferred one, and otherwise refuses to choose. foreign is how many it passed over.
func (c Choice) ofOneOwner(ctx context.Context, store objstore.Store, fitting []candidate) (own []candidate, foreign int, err error) {
	newest := newestOfEach(fitting)
	if len(newest) < 2 {
		return fitting, 0, nil
	}
	uids, err := owners(ctx, store, fitting, newest)
	if err != nil {
		return nil, 0, err
	}
	known := map[string]bool{}
	for _, uid := range uids {
		known[uid] = uid != ""
	}
	delete(known, "")
	if len(known) < 2 {
		return fitting, 0, nil
	}
	uid, prefers := uids[c.Prefer]
	if !prefers {
		uid, prefers = c.UID, known[c.UID]
	}
	if !prefers {
		return nil, 0, fmt.Errorf("%w: they have the same name, and these cluster IDs: %s: write one of them into select.clusterID", ErrAmbiguous, describe(newest, uids))
	}
	own = slices.DeleteFunc(slices.Clone(fitting), func(e candidate) bool { return uids[e.clusterID] != uid })
	return own, len(fitting) - len(own), nil
}

// newestOfEach returns the newest snapshot of each cluster ID, newest first.
func newestOfEach(entries []candidate) []candidate {
	seen := map[string]bool{}
	var newest []candidate
	for _, e := range entries {
		if !seen[e.clusterID] && len(newest) < ownersLimit {
			newest = append(newest, e)
		}
		seen[e.clusterID] = true
	}
	return newest
}

// owners returns for each cluster ID the UID of its EtcdCluster. It is empty if no manifest that can be read has one.
func owners(ctx context.Context, store objstore.Store, entries, newest []candidate) (map[string]string, error) {
	tries := map[string][]snapshot.Item{}
	for _, e := range entries {
		if len(tries[e.clusterID]) < ownerTries {
			tries[e.clusterID] = append(tries[e.clusterID], e.Item)
		}
	}
	uids, known := map[string]string{}, snapshot.Known{}
	for try := range ownerTries {
		var next []snapshot.Item
		for _, e := range newest {
			if _, found := uids[e.clusterID]; !found && try < len(tries[e.clusterID]) {
				next = append(next, tries[e.clusterID][try])
			}
		}
		if err := readAll(ctx, store, known, next); err != nil {
			return nil, err
		}
		for _, e := range newest {
			if items := tries[e.clusterID]; try < len(items) && known[items[try].Key].Err == nil && uids[e.clusterID] == "" {
				uids[e.clusterID] = known[items[try].Key].Manifest.Cluster.UID
			}
		}
	}
	return uids, nil
}

// describe names the candidates of an ambiguous choice.
func describe(newest []candidate, uids map[string]string) string {
	var names []string
	for _, e := range newest[:min(len(newest), shownCandidates)] {
		name := e.clusterID + " (newest snapshot taken at " + e.Time.UTC().Format(time.RFC3339)
		if uid := uids[e.clusterID]; uid != "" {
			name += ", UID of the EtcdCluster " + uid
		}
		names = append(names, name+")")
	}
	if more := len(newest) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

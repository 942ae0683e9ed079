package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
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
// EtcdClusters, it takes those of the preferred one, and otherwise refuses to choose. foreign is how many it passed over. If signatures are
// required, a manifest without one says nothing, so who can only create objects does not make an older snapshot the newest one.
func (c Choice) ofOneOwner(ctx context.Context, store objstore.Store, fitting []candidate, by snapshot.Signers) (own []candidate, foreign int, err error) {
	newest := newestOfEach(fitting)
	if len(newest) < 2 {
		return fitting, 0, nil
	}
	uids, known, err := owners(ctx, store, fitting, newest, by)
	if err != nil {
		return nil, 0, err
	}
	of := func(e candidate) bool { return known.forged[e.clusterID] }
	all := len(fitting)
	fitting, newest = slices.DeleteFunc(slices.Clone(fitting), of), slices.DeleteFunc(newest, of)
	distinct := map[string]bool{}
	for _, uid := range uids {
		distinct[uid] = uid != ""
	}
	delete(distinct, "")
	if len(distinct) < 2 {
		return fitting, all - len(fitting), nil
	}
	uid, prefers := uids[c.Prefer]
	if !prefers {
		uid, prefers = c.UID, distinct[c.UID]
	}
	if !prefers {
		return nil, 0, fmt.Errorf("%w: they have the same name, and these cluster IDs: %s: write one of them into select.clusterID", ErrAmbiguous, describe(newest, uids))
	}
	own = slices.DeleteFunc(slices.Clone(fitting), func(e candidate) bool { return uids[e.clusterID] != uid })
	for _, e := range newest {
		if err := known.unsigned[e.clusterID]; err != nil && uids[e.clusterID] == "" && (len(own) == 0 || e.Time.After(own[0].Time)) {
			return nil, 0, fmt.Errorf("%s may be the newest snapshot: %w", e.Key, err)
		}
	}
	return own, all - len(own), nil
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

// doubts are what manifests leave open, by cluster ID.
type doubts struct {
	forged   map[string]bool  // all manifests name another cluster
	unsigned map[string]error // a manifest has no signature, although one is required
}

// owners returns for each cluster ID the UID of its EtcdCluster. It is empty if no manifest that can be read has one.
func owners(ctx context.Context, store objstore.Store, entries, newest []candidate, by snapshot.Signers) (map[string]string, doubts, error) {
	tries := map[string][]catalog.Item{}
	for _, e := range entries {
		if len(tries[e.clusterID]) < ownerTries {
			tries[e.clusterID] = append(tries[e.clusterID], e.Item)
		}
	}
	uids, left := map[string]string{}, doubts{map[string]bool{}, map[string]error{}}
	known := catalog.Known{}
	for try := range ownerTries {
		var next []catalog.Item
		for _, e := range newest {
			if _, found := uids[e.clusterID]; !found && try < len(tries[e.clusterID]) {
				next = append(next, tries[e.clusterID][try])
			}
		}
		if err := readAll(ctx, store, known, next, by); err != nil {
			return nil, doubts{}, err
		}
		for _, e := range newest {
			items := tries[e.clusterID]
			if try >= len(items) || uids[e.clusterID] != "" {
				continue
			}
			reading := known[items[try].Key]
			if reading.Err == nil && snapshot.Agrees(items[try].Key, reading.Manifest) {
				uids[e.clusterID] = reading.Manifest.Cluster.UID
			} else if snapshot.OfSignature(reading.Err) {
				left.unsigned[e.clusterID] = reading.Err
			}
		}
	}
	for _, e := range newest {
		left.forged[e.clusterID] = e.InSeries() && contradictory(known, tries[e.clusterID])
	}
	return uids, left, nil
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

// contradictory reports whether all manifests that were read name another cluster than their keys.
func contradictory(known catalog.Known, items []catalog.Item) bool {
	return len(items) > 0 && !slices.ContainsFunc(items, func(i catalog.Item) bool {
		reading, read := known[i.Key]
		return !read || reading.Err != nil || snapshot.Agrees(i.Key, reading.Manifest)
	})
}

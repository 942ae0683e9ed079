package source

import (
	"context"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// The folder of a cluster's series is <folder>/<namespace>/<cluster>/. Who may write to the bucket can write there, too, for example with an
// EtcdBackup whose path is that folder. A snapshot of another cluster in there is foreign: it is never chosen, and makes no choice ambiguous.

// atHome drops snapshots that are in the folder of another cluster's series.
func atHome(all []candidate) []candidate {
	homes := map[string]string{} // the cluster of each folder
	for _, e := range all {
		if e.InSeries() {
			homes[e.Series.Lives()] = e.cluster
		}
	}
	return slices.DeleteFunc(all, func(e candidate) bool {
		own := e.Key
		if e.InSeries() {
			own = strings.TrimSuffix(e.Series.Lives(), "/")
		}
		for i, letter := range own {
			if cluster, found := homes[own[:i]+"/"]; letter == '/' && found && (e.InSeries() || cluster != e.cluster) {
				return true
			}
		}
		return false
	})
}

// truthful drops the clusters that only the names of snapshots speak of, and none of their newest manifests. If signatures are required, a
// manifest without one says nothing.
func truthful(ctx context.Context, store objstore.Store, entries []candidate, by snapshot.Signers) ([]candidate, error) {
	samples := map[string][]catalog.Item{}
	var all []catalog.Item
	for _, e := range entries {
		if e.InSeries() && len(samples[e.cluster]) < ownerTries {
			samples[e.cluster] = append(samples[e.cluster], e.Item)
			all = append(all, e.Item)
		}
	}
	known := catalog.Known{}
	if err := readAll(ctx, store, known, all[:min(len(all), ownersLimit)], by); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e candidate) bool { return e.InSeries() && contradictory(known, samples[e.cluster]) }), nil
}

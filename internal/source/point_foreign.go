package source

import (
	"cmp"
	"fmt"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// onlyTwins returns a refusal if the snapshots that could be bases are from another Kubernetes with the same names, and nil if none is. A later
// snapshot does not help: the cluster that it would be of may be lost, and a person decides whose data is restored.
func (c Choice) onlyTwins(items []catalog.Item, known catalog.Known, target archive.Target) error {
	count, newest := 0, ""
	for _, item := range items {
		reading := known[item.Key]
		if reading.Err == nil && !reading.Manifest.NoQuorum && c.claim(item.Key, reading.Manifest) == snapshot.Twin {
			count++
			newest = cmp.Or(newest, item.Series.ID())
		}
	}
	if count == 0 {
		return nil
	}
	return &archive.Refusal{
		Target: target, Reason: fmt.Sprintf("all %d snapshots that it could begin with are from another Kubernetes, which has the same names", count),
		Way: fmt.Sprintf("To restore the data of that one, write the cluster ID of its snapshots into select.clusterID. That of the newest is %s", newest),
	}
}

package source

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
)

// ErrAmbiguous is in the chain when the snapshots that fit are of more than one cluster.
var ErrAmbiguous = errors.New("snapshots of more than one cluster fit")

// Choice says which snapshot below a folder is meant. The zero Choice chooses nothing: the source names its object.
// It is comparable.
type Choice struct {
	// Folder: the source's key is a folder, and the newest snapshot below it that fits is meant.
	Folder bool
	// Before is the time after which no snapshot fits, RFC 3339; empty for any.
	Before string
	// ClusterID that the snapshot must be of, 16 hex digits; empty for any.
	ClusterID string
	// UID of the EtcdCluster, and Prefer, an etcd cluster ID, whose snapshots are meant if those of several EtcdClusters
	// with the same name fit. They may be empty.
	UID, Prefer string
	// Of is the cluster, as namespace/name, if the folder is that of its series; empty for any. Snapshots of other clusters below the folder
	// do not count.
	Of string
	// NoQuorum admits snapshots that were taken without quorum.
	NoQuorum bool
	// Revision or Time (RFC 3339) is the point to restore with the continuous archive. Both are empty for a snapshot.
	Revision int64
	Time     string
	// Follow means the newest snapshot with which a standby can begin to follow the continuous archive, see FindNewest.
	Follow bool
	// Name is the path, the key or the last part of the key of the one that fits; empty for any.
	Name string
	// Fallback is a folder. If the source's object does not exist or failed its restore test, the newest snapshot below
	// the folder is meant instead. Empty for none. It is only used without Folder.
	Fallback string
	// Backup is the name of the EtcdBackup whose newest snapshot is meant. If Fallback has a newer one of it than the source's object, that
	// one is meant: the status of the EtcdBackup may be from an old backup of Kubernetes. Empty for none. It is only used with Fallback.
	Backup string
	// Recorded is the key of the newest snapshot in the status of the EtcdBackup that the restore is about. It is asked for if a listing omits it,
	// and counts although newer ones without the signature that is required do not. Empty if none is known.
	Recorded string
	// Owner has the names, UIDs and times of the EtcdBackup and the EtcdCluster that the restore is about. A later snapshot with the same names
	// and another UID is from another Kubernetes, so it is not chosen unless Name names it. Times are in UTC. It may be empty.
	Owner snapshot.Owner
}

// candidate is a snapshot with its cluster.
type candidate struct {
	catalog.Item
	cluster, clusterID string
}

// fitting returns the snapshots that the choice admits, in their order.
func (c Choice) fitting(bucket string, all []candidate) ([]candidate, error) {
	before, err := c.before()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(e candidate) bool {
		if c.Of != "" && e.cluster != c.Of {
			return true
		}
		named := c.Name == "" || c.Name == e.Key || c.Name == bucket+"/"+e.Key || c.Name == path.Base(e.Key)
		late := !before.IsZero() && e.Time.After(before)
		return !named || late || c.ClusterID != "" && e.clusterID != c.ClusterID
	}), nil
}

// before returns the time of the choice, which is zero for any.
func (c Choice) before() (time.Time, error) {
	if c.Before == "" {
		return time.Time{}, nil
	}
	before, err := time.Parse(time.RFC3339, c.Before)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %q is no time", ErrConfig, c.Before)
	}
	return before, nil
}

// capturedLate returns whether a snapshot may hold writes from after the time of the choice. A name has the time at which the
// run began, and etcd sends the snapshot later. If the manifest does not have that time, the snapshot is older than its
// object in the store.
func (c Choice) capturedLate(item catalog.Item, m snapshot.Manifest) bool {
	before, err := c.before()
	captured := m.CapturedAt
	if captured.IsZero() {
		captured = item.Stored
	}
	return err == nil && !before.IsZero() && captured.After(before)
}

// ErrConfig is in the chain when the store could not be opened: its endpoint or its Secret is wrong.
var ErrConfig = errors.New("store cannot be opened")

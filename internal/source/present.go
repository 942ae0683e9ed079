package source

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// Present is what the spec of an EtcdBackup saves now. A user can change the store, the bucket, the folder and the cluster of the spec. The status
// then still has paths from before, and these show nothing of the present one.
type Present struct {
	location storage.Location
	// series is that of the spec, of any cluster ID. folder is where it is. It is empty if the spec asks for one snapshot.
	series snapshot.Series
	folder string
}

// PresentOf returns what a spec saves.
func PresentOf(l storage.Location, namespace, name string, spec v1beta2.EtcdBackupSpec) Present {
	if spec.EtcdCluster != nil {
		name = spec.EtcdCluster.Name
	}
	present := Present{location: l, series: snapshot.Series{Folder: strings.TrimSuffix(l.Key, "/"), Namespace: namespace, Cluster: name}}
	if p := spec.BackupPolicy; p != nil && (p.Schedule != "" || p.BackupIntervalInSecond > 0) {
		present.folder = present.series.Lives()
	}
	return present
}

// Has reports whether a path in the status is of what the spec saves now. All readers of the status ask here. A snapshot with the path of the spec was
// saved before that had a schedule. It counts, too.
func (p Present) Has(status v1beta2.EtcdBackupStatus, path string) bool {
	below := strings.HasPrefix(path, p.location.Bucket+"/"+p.folder) || path == strings.TrimSuffix(p.location.Path(), "/")
	return below && p.OfCluster(path) && p.location.Has(status, path)
}

// OfCluster reports whether a path is not in the series of another cluster than that of the spec, whatever the location.
func (p Present) OfCluster(path string) bool {
	key, series := snapshot.ParseKey(path)
	return !series || key.Namespace == p.series.Namespace && key.Cluster == p.series.Cluster
}

// InSeries reports whether a path is in the series of the spec.
func (p Present) InSeries(path string) bool {
	return strings.HasPrefix(path, p.location.Bucket+"/"+p.series.Lives())
}

// Newest returns the newest snapshot of the status if it is of what the spec saves now, and nil if it is not.
func (p Present) Newest(status v1beta2.EtcdBackupStatus) *v1beta2.Snapshot {
	if status.Snapshot == nil || !p.Has(status, status.Snapshot.Path) {
		return nil
	}
	return status.Snapshot
}

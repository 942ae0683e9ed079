package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// whereNone ends the sentence that an EtcdBackup has no snapshot. If it has one in a location that its spec named before, a person decides.
func whereNone(s state.State, found v1beta2.RestoreSource) string {
	earlier := s.Backup.Status.Snapshot
	if earlier == nil {
		return "yet"
	}
	folder, _ := seriesOf(s, found, "")
	return fmt.Sprintf("below %s/%s of %s yet. Its newest one, %s of %s, is of the location or the cluster that its spec named before. "+
		"To restore the newest below the folder that it names now, set select: {}. To restore the one from before, name its path under storage, with the endpoint and the Secret from before",
		found.Bucket, folder, storage.FromSource(found).Store(), earlier.Path, cmp.Or(s.Backup.Status.SnapshotStore, "the same store"))
}

// preferring adds which cluster the EtcdBackup saves, because others in the bucket may have the same name, also in another Kubernetes.
func preferring(s state.State, choice source.Choice) source.Choice {
	choice.Owner = snapshot.Owner{Backup: s.Backup.Name, BackupUID: string(s.Backup.UID), BackupSince: s.Backup.CreationTimestamp.UTC()}
	if newest := s.Backup.Status.Snapshot; newest != nil && s.Present(storage.Location{}).OfCluster(newest.Path) {
		choice.Prefer = newest.ClusterID
	}
	if of := s.Backup.Spec.EtcdCluster; of != nil && s.Cluster != nil && of.Name == s.Cluster.Name {
		choice.UID = string(s.Cluster.UID)
		choice.Owner.ClusterUID, choice.Owner.ClusterSince = choice.UID, s.Cluster.CreationTimestamp.UTC()
	}
	return choice
}

// clusterName is that of the cluster that the spec of the EtcdBackup names now.
func clusterName(s state.State) string {
	if of := s.Backup.Spec.EtcdCluster; of != nil {
		return of.Name
	}
	return s.Backup.Name
}

// seriesOf is the folder of all snapshots of the EtcdBackup's cluster. It is false if its newest is not one of a series. The path of that is
// empty if there is none in the location of the spec.
func seriesOf(s state.State, folder v1beta2.RestoreSource, newest string) (string, bool) {
	parsed, ok := snapshot.ParseKey(strings.TrimPrefix(newest, folder.Bucket+"/"))
	switch {
	case ok:
		name := parsed.Namespace + "/" + parsed.Cluster + "/"
		if parsed.Folder != "" {
			name = parsed.Folder + "/" + name
		}
		return name, true
	case newest != "":
		return "", false
	}
	return folder.Key + s.Restore.Namespace + "/" + clusterName(s) + "/", true
}

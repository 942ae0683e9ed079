package plan

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// wanted is what the restore is to read, or the Step that says why there is nothing.
func (s State) wanted() (Verify, Step) {
	spec := s.Restore.Spec
	if spec.EtcdBackup != nil {
		return s.wantedOfBackup(spec.EtcdBackup)
	}
	choice := choiceOf(spec.Select)
	if choice.Folder && s.Cluster != nil {
		choice.UID = string(s.Cluster.UID)
	}
	found, none := sourceOf(spec.BackupStorageType, spec.Storage, "", "backupStorageType", choice.Folder)
	return Verify{Source: found, Choice: choice}, none
}

// wantedOfBackup is the newest snapshot of an EtcdBackup as its status tells it, or the one that fits below the folder
// of its series.
func (s State) wantedOfBackup(reference *v1beta2.BackupReference) (Verify, Step) {
	name := reference.Name
	if s.Backup == nil {
		return Verify{}, Wait{
			Reason:  v1beta2.ReasonBackupNotFound,
			Message: "there is no EtcdBackup " + name + " in namespace " + s.Restore.Namespace,
			Failure: true,
		}
	}
	choice := choiceOf(s.Restore.Spec.Select)
	choice.Name = reference.Snapshot
	choice.Folder = choice.Folder || choice.Name != ""
	found, none := sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, "", "storageType of EtcdBackup "+name, true)
	if none != nil {
		return Verify{}, none
	}
	newest := ""
	if recorded := s.present(storage.FromSource(found)).Newest(s.Backup.Status); recorded != nil {
		newest = recorded.Path
	}
	if !choice.Folder {
		return s.newestOfBackup(found, newest, choice)
	}
	folder, series := s.seriesOf(found, newest)
	if !series {
		return Verify{}, invalid(fmt.Sprintf("EtcdBackup %s is no series: its one snapshot is %s, so leave out select and etcdBackup.snapshot", name, newest))
	}
	found.Key, choice.Of = folder, clusterOf(folder)
	if choice.Name == "" {
		choice.Recorded = strings.TrimPrefix(newest, found.Bucket+"/")
	}
	return Verify{Source: found, Choice: s.preferring(choice)}, nil
}

// present is what the spec of the EtcdBackup saves now, in its location.
func (s State) present(l storage.Location) source.Present {
	return source.PresentOf(l, s.Restore.Namespace, s.Backup.Name, s.Backup.Spec)
}

// newestOfBackup is the snapshot that the status of the EtcdBackup names, if it is in the location of its spec.
func (s State) newestOfBackup(found v1beta2.RestoreSource, newest string, choice source.Choice) (Verify, Step) {
	name := s.Restore.Spec.EtcdBackup.Name
	if newest == "" {
		return Verify{}, Wait{Patient: true, Reason: v1beta2.ReasonPending, Message: "EtcdBackup " + name + " has no snapshot " + s.whereNone(found)}
	}
	folder, series := s.seriesOf(found, newest)
	found.Key = strings.TrimPrefix(newest, found.Bucket+"/")
	if series {
		choice.Fallback = folder
		choice.Of, choice.Backup = clusterOf(choice.Fallback), name
		choice = s.preferring(choice)
	}
	return Verify{Source: found, Choice: choice}, nil
}

// whereNone ends the sentence that an EtcdBackup has no snapshot. If it has one in a location that its spec named before, a person decides.
func (s State) whereNone(found v1beta2.RestoreSource) string {
	earlier := s.Backup.Status.Snapshot
	if earlier == nil {
		return "yet"
	}
	folder, _ := s.seriesOf(found, "")
	return fmt.Sprintf("below %s/%s of %s yet. Its newest one, %s of %s, is of the location or the cluster that its spec named before. "+
		"To restore the newest below the folder that it names now, set select: {}. To restore the one from before, name its path under storage, with the endpoint and the Secret from before",
		found.Bucket, folder, storage.FromSource(found).Store(), earlier.Path, cmp.Or(s.Backup.Status.SnapshotStore, "the same store"))
}

// preferring adds which cluster the EtcdBackup saves, because others in the bucket may have the same name, also in another Kubernetes.
func (s State) preferring(choice source.Choice) source.Choice {
	choice.Owner = snapshot.Owner{Backup: s.Backup.Name, BackupUID: string(s.Backup.UID), BackupSince: s.Backup.CreationTimestamp.UTC()}
	if newest := s.Backup.Status.Snapshot; newest != nil && s.present(storage.Location{}).OfCluster(newest.Path) {
		choice.Prefer = newest.ClusterID
	}
	if of := s.Backup.Spec.EtcdCluster; of != nil && s.Cluster != nil && of.Name == s.Cluster.Name {
		choice.UID = string(s.Cluster.UID)
		choice.Owner.ClusterUID, choice.Owner.ClusterSince = choice.UID, s.Cluster.CreationTimestamp.UTC()
	}
	return choice
}

// clusterName is that of the cluster that the spec of the EtcdBackup names now.
func (s State) clusterName() string {
	if of := s.Backup.Spec.EtcdCluster; of != nil {
		return of.Name
	}
	return s.Backup.Name
}

// seriesOf is the folder of all snapshots of the EtcdBackup's cluster. It is false if its newest is not one of a series. The path of that is
// empty if there is none in the location of the spec.
func (s State) seriesOf(folder v1beta2.RestoreSource, newest string) (string, bool) {
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
	return folder.Key + s.Restore.Namespace + "/" + s.clusterName() + "/", true
}

// clusterOf returns the cluster of the folder of a series, as namespace/name.
func clusterOf(folder string) string {
	series := strings.TrimSuffix(folder, "/")
	return path.Join(path.Base(path.Dir(series)), path.Base(series))
}

func choiceOf(selector *v1beta2.SnapshotSelector) source.Choice {
	if selector == nil {
		return source.Choice{}
	}
	choice := source.Choice{Folder: true, ClusterID: selector.ClusterID, NoQuorum: selector.IncludeNoQuorum}
	if selector.Before != nil {
		choice.Before = selector.Before.UTC().Format(time.RFC3339)
	}
	choice.Revision = selector.Revision
	if selector.Time != nil {
		choice.Time = selector.Time.UTC().Format(time.RFC3339)
	}
	return choice
}

// sourceOf reads a storage block. path takes the place of the block's own; field names the storage type in messages;
// folder: the path names one. A missing block comes from an object that was stored before the API's schema required it.
func sourceOf(kind v1beta2.StorageType, block v1beta2.Storage, path, field string, folder bool) (v1beta2.RestoreSource, Step) {
	location, problem := storage.Spec{
		Field: field, Type: kind, Block: block, Path: path, Folder: folder,
		NoKey: ", or add select: {} to restore the newest snapshot below the path",
	}.Location()
	if problem != nil {
		return v1beta2.RestoreSource{}, Fail(*problem)
	}
	return location.Source(), nil
}

func invalid(message string) Step {
	return Fail{Reason: v1beta2.ReasonInvalidSpec, Message: message}
}

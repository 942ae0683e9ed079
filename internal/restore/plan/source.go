package plan

import (
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
	newest := ""
	if s.Backup.Status.Snapshot != nil {
		newest = s.Backup.Status.Snapshot.Path
	}
	if storage.Supported(s.Backup.Spec.StorageType) && newest == "" && !choice.Folder {
		return Verify{}, Wait{
			Reason:  v1beta2.ReasonPending,
			Message: "EtcdBackup " + name + " has no snapshot yet",
		}
	}
	field := "storageType of EtcdBackup " + name
	if !choice.Folder {
		found, none := sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, newest, field, false)
		if _, series := snapshot.ParseKey(found.Key); none == nil && series {
			choice.Fallback, _ = s.seriesOf(found, newest)
			choice.Of, choice.Backup = clusterOf(choice.Fallback), name
			choice = s.preferring(choice)
		}
		return Verify{Source: found, Choice: choice}, none
	}
	found, none := sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, "", field, true)
	if none != nil {
		return Verify{}, none
	}
	folder, series := s.seriesOf(found, newest)
	if !series {
		return Verify{}, invalid(fmt.Sprintf("EtcdBackup %s is no series: its one snapshot is %s, so leave out select and etcdBackup.snapshot", name, newest))
	}
	found.Key, choice.Of = folder, clusterOf(folder)
	return Verify{Source: found, Choice: s.preferring(choice)}, nil
}

// preferring adds which cluster the EtcdBackup saves, because others in the bucket may have the same name, also in another Kubernetes.
func (s State) preferring(choice source.Choice) source.Choice {
	choice.Owner = snapshot.Owner{Backup: s.Backup.Name, BackupUID: string(s.Backup.UID), BackupSince: s.Backup.CreationTimestamp.UTC()}
	if newest := s.Backup.Status.Snapshot; newest != nil {
		choice.Prefer = newest.ClusterID
	}
	if of := s.Backup.Spec.EtcdCluster; of != nil && s.Cluster != nil && of.Name == s.Cluster.Name {
		choice.UID = string(s.Cluster.UID)
		choice.Owner.ClusterUID, choice.Owner.ClusterSince = choice.UID, s.Cluster.CreationTimestamp.UTC()
	}
	return choice
}

// seriesOf is the folder of all snapshots of the EtcdBackup's cluster; false where its newest, the path of which is
// empty where it has none, is not one of a series.
func (s State) seriesOf(folder v1beta2.RestoreSource, newest string) (string, bool) {
	if !strings.HasPrefix(newest, folder.Bucket+"/") {
		newest = "" // it is in the bucket that the EtcdBackup named before
	}
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
	cluster := s.Backup.Name
	if s.Backup.Spec.EtcdCluster != nil {
		cluster = s.Backup.Spec.EtcdCluster.Name
	}
	return folder.Key + s.Restore.Namespace + "/" + cluster + "/", true
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

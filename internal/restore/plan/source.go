package plan

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/restore/state"
	"github.com/etcd-suite/etcd-operator/internal/restore/steps"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// wanted is what the restore is to read, or the Step that says why there is nothing.
func wanted(s state.State) (steps.Verify, steps.Step) {
	spec := s.Restore.Spec
	if spec.EtcdBackup != nil {
		return wantedOfBackup(s, spec.EtcdBackup)
	}
	choice := choiceOf(spec)
	if choice.Folder && s.Cluster != nil {
		choice.UID = string(s.Cluster.UID)
	}
	found, none := sourceOf(spec.BackupStorageType, spec.Storage, "", "backupStorageType", choice.Folder)
	return steps.Verify{Source: found, Choice: choice}, none
}

// wantedOfBackup is the newest snapshot of an EtcdBackup as its status tells it, or the one that fits below the folder
// of its series.
func wantedOfBackup(s state.State, reference *v1beta2.BackupReference) (steps.Verify, steps.Step) {
	name := reference.Name
	if s.Backup == nil {
		return steps.Verify{}, steps.Wait{
			Reason:  v1beta2.ReasonBackupNotFound,
			Message: "there is no EtcdBackup " + name + " in namespace " + s.Restore.Namespace,
			Failure: true,
		}
	}
	choice := choiceOf(s.Restore.Spec)
	choice.Name = reference.Snapshot
	choice.Folder = choice.Folder || choice.Name != ""
	found, none := sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, "", "storageType of EtcdBackup "+name, true)
	if none != nil {
		return steps.Verify{}, none
	}
	newest := ""
	if recorded := s.Present(storage.FromSource(found)).Newest(s.Backup.Status); recorded != nil {
		newest = recorded.Path
	}
	if !choice.Folder {
		return newestOfBackup(s, found, newest, choice)
	}
	folder, series := seriesOf(s, found, newest)
	if !series {
		return steps.Verify{}, invalid(fmt.Sprintf("EtcdBackup %s is no series: its one snapshot is %s, so leave out select and etcdBackup.snapshot", name, newest))
	}
	found.Key, choice.Of = folder, clusterOf(folder)
	if choice.Name == "" {
		choice.Recorded = strings.TrimPrefix(newest, found.Bucket+"/")
	}
	return steps.Verify{Source: found, Choice: preferring(s, choice)}, nil
}

// newestOfBackup is the snapshot that the status of the EtcdBackup names, if it is in the location of its spec.
func newestOfBackup(s state.State, found v1beta2.RestoreSource, newest string, choice source.Choice) (steps.Verify, steps.Step) {
	name := s.Restore.Spec.EtcdBackup.Name
	if newest == "" {
		return steps.Verify{}, steps.Wait{Patient: true, Reason: v1beta2.ReasonPending, Message: "EtcdBackup " + name + " has no snapshot " + whereNone(s, found)}
	}
	folder, series := seriesOf(s, found, newest)
	found.Key = strings.TrimPrefix(newest, found.Bucket+"/")
	if series {
		choice.Fallback = folder
		choice.Of, choice.Backup = clusterOf(choice.Fallback), name
		choice = preferring(s, choice)
	}
	return steps.Verify{Source: found, Choice: choice}, nil
}

// clusterOf returns the cluster of the folder of a series, as namespace/name.
func clusterOf(folder string) string {
	series := strings.TrimSuffix(folder, "/")
	return path.Join(path.Base(path.Dir(series)), path.Base(series))
}

func choiceOf(spec v1beta2.EtcdRestoreSpec) source.Choice {
	selector := spec.Select
	if spec.Follows() { // the API refuses the other fields of select
		choice := source.Choice{Folder: true, Follow: true}
		if selector != nil {
			choice.ClusterID = selector.ClusterID
		}
		return choice
	}
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
func sourceOf(kind v1beta2.StorageType, block v1beta2.Storage, path, field string, folder bool) (v1beta2.RestoreSource, steps.Step) {
	location, problem := storage.Spec{
		Field: field, Type: kind, Block: block, Path: path, Folder: folder,
		NoKey: ", or add select: {} to restore the newest snapshot below the path",
	}.Location()
	if problem != nil {
		return v1beta2.RestoreSource{}, steps.Fail(*problem)
	}
	return location.Source(), nil
}

func invalid(message string) steps.Step {
	return steps.Fail{Reason: v1beta2.ReasonInvalidSpec, Message: message}
}

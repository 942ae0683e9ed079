package plan

import (
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// wanted is what the restore is to read, or the Step that says why there is nothing.
func (s State) wanted() (Verify, Step) {
	spec := s.Restore.Spec
	if spec.EtcdBackup != nil {
		return s.wantedOfBackup(spec.EtcdBackup)
	}
	choice := choiceOf(spec.Select)
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
	if supported(s.Backup.Spec.StorageType) && newest == "" && !choice.Folder {
		return Verify{}, Wait{
			Reason:  v1beta2.ReasonPending,
			Message: "EtcdBackup " + name + " has no snapshot yet",
		}
	}
	field := "storageType of EtcdBackup " + name
	if !choice.Folder {
		found, none := sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, newest, field, false)
		return Verify{Source: found}, none
	}
	found, none := sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, "", field, true)
	if none != nil {
		return Verify{}, none
	}
	folder, series := s.seriesOf(found, newest)
	if !series {
		return Verify{}, invalid(fmt.Sprintf("EtcdBackup %s is no series: its one snapshot is %s, so leave out select and etcdBackup.snapshot", name, newest))
	}
	found.Key = folder
	return Verify{Source: found, Choice: choice}, nil
}

// seriesOf is the folder of all snapshots of the EtcdBackup's cluster; false where its newest, the path of which is
// empty where it has none, is not one of a series.
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
	cluster := s.Backup.Name
	if s.Backup.Spec.EtcdCluster != nil {
		cluster = s.Backup.Spec.EtcdCluster.Name
	}
	return folder.Key + s.Restore.Namespace + "/" + cluster + "/", true
}

func choiceOf(selector *v1beta2.SnapshotSelector) source.Choice {
	if selector == nil {
		return source.Choice{}
	}
	choice := source.Choice{Folder: true, ClusterID: selector.ClusterID}
	if selector.Before != nil {
		choice.Before = selector.Before.UTC().Format(time.RFC3339)
	}
	return choice
}

func supported(kind v1beta2.StorageType) bool {
	return kind == v1beta2.StorageS3 || kind == v1beta2.StorageGCS
}

// sourceOf reads a storage block. path takes the place of the block's own; field names the storage type in
// messages; folder: the path is one, and its key ends in a slash or is empty. A block that is missing cannot come from this API's schema, but from an object stored before it.
func sourceOf(kind v1beta2.StorageType, storage v1beta2.Storage, path, field string, folder bool) (v1beta2.RestoreSource, Step) {
	place := v1beta2.RestoreSource{StorageType: kind}
	missing := func(block string) Step {
		return invalid(fmt.Sprintf(`%s %s needs a block %s with path: "<bucket>/<key>"`, field, kind, block))
	}
	switch kind {
	case v1beta2.StorageS3:
		if storage.S3 == nil {
			return place, missing("s3")
		}
		path = or(path, storage.S3.Path)
		place.Endpoint, place.Region = storage.S3.Endpoint, storage.S3.Region
		place.ForcePathStyle, place.Secret = storage.S3.ForcePathStyle, storage.S3.AWSSecret
		place.CustomerKey = storage.S3.CustomerKey()
	case v1beta2.StorageGCS:
		if storage.GCS == nil {
			return place, missing("gcs")
		}
		path = or(path, storage.GCS.Path)
		place.Endpoint, place.Secret = storage.GCS.Endpoint, storage.GCS.GCPSecret
	case v1beta2.StorageOSS:
		return place, notSupported(field + " OSS is not supported: OSS speaks the S3 protocol, so write S3 and an s3 block with its endpoint")
	case v1beta2.StorageABS:
		return place, notSupported(field + " ABS is not supported: copy the snapshot to S3 or GCS and name it there")
	default:
		return place, notSupported(fmt.Sprintf("%s %q is not known: write S3 or GCS", field, kind))
	}
	bucket, key, problem := split(path, folder)
	if problem != nil {
		return place, problem
	}
	if strings.ContainsFunc(bucket, notInBucketName) {
		return place, invalid(fmt.Sprintf("path %q: the bucket's name may have letters, digits, hyphens, underscores and dots", path))
	}
	if place.Endpoint != "" && badURL(place.Endpoint) {
		return place, invalid("the endpoint of the store is not a URL: write https://host or https://host:port, without user and password")
	}
	place.Bucket, place.Key = bucket, key
	return place, nil
}

// split takes a path literally: the bucket ends at the first slash, and the rest is the key.
func split(path string, folder bool) (bucket, key string, problem Step) {
	bucket, key, _ = strings.Cut(path, "/")
	switch {
	case folder && bucket == "":
		return "", "", invalid(fmt.Sprintf(`path %q does not name a folder: write "<bucket>/<folder>"`, path))
	case folder:
		if key = strings.TrimRight(key, "/"); key != "" {
			key += "/"
		}
	case bucket != "" && (key == "" || strings.HasSuffix(key, "/")):
		return "", "", invalid(fmt.Sprintf(`path %q does not name an object: write "<bucket>/<key>", or add select: {} to take the newest snapshot below it`, path))
	case bucket == "":
		return "", "", invalid(fmt.Sprintf(`path %q does not name an object: write "<bucket>/<key>"`, path))
	}
	return bucket, key, nil
}

func notInBucketName(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
}

// badURL says whether a store's endpoint is something else than scheme, host and port, and perhaps a path. What it
// holds is repeated nowhere, because it could be a password.
func badURL(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != ""
}

func invalid(message string) Step {
	return Fail{Reason: v1beta2.ReasonInvalidSpec, Message: message}
}

func notSupported(message string) Step {
	return Fail{Reason: v1beta2.ReasonStorageNotSupported, Message: message}
}

func or(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

package restore

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// source is the object that the restore is to read, or the Step that says why there is none.
func (s State) source() (v1beta2.RestoreSource, Step) {
	spec := s.Restore.Spec
	if spec.EtcdBackup == nil {
		return sourceOf(spec.BackupStorageType, spec.Storage, "", "backupStorageType")
	}
	name := spec.EtcdBackup.Name
	if s.Backup == nil {
		return v1beta2.RestoreSource{}, Wait{
			Reason:  v1beta2.ReasonBackupNotFound,
			Message: "there is no EtcdBackup " + name + " in namespace " + s.Restore.Namespace,
			Failure: true,
		}
	}
	if supported(s.Backup.Spec.StorageType) && s.Backup.Status.Snapshot == nil {
		return v1beta2.RestoreSource{}, Wait{
			Reason:  v1beta2.ReasonPending,
			Message: "EtcdBackup " + name + " has no snapshot yet",
		}
	}
	path := ""
	if s.Backup.Status.Snapshot != nil {
		path = s.Backup.Status.Snapshot.Path
	}
	return sourceOf(s.Backup.Spec.StorageType, s.Backup.Spec.Storage, path, "storageType of EtcdBackup "+name)
}

func supported(kind v1beta2.StorageType) bool {
	return kind == v1beta2.StorageS3 || kind == v1beta2.StorageGCS
}

// sourceOf reads a storage block. path takes the place of the block's own; field names the storage type in
// messages. A block that is missing cannot come from this API's schema, but from an object stored before it.
func sourceOf(kind v1beta2.StorageType, storage v1beta2.Storage, path, field string) (v1beta2.RestoreSource, Step) {
	source := v1beta2.RestoreSource{StorageType: kind}
	missing := func(block string) Step {
		return invalid(fmt.Sprintf(`%s %s needs a block %s with path: "<bucket>/<key>"`, field, kind, block))
	}
	switch kind {
	case v1beta2.StorageS3:
		if storage.S3 == nil {
			return source, missing("s3")
		}
		path = or(path, storage.S3.Path)
		source.Endpoint, source.Region = storage.S3.Endpoint, storage.S3.Region
		source.ForcePathStyle, source.Secret = storage.S3.ForcePathStyle, storage.S3.AWSSecret
	case v1beta2.StorageGCS:
		if storage.GCS == nil {
			return source, missing("gcs")
		}
		path = or(path, storage.GCS.Path)
		source.Endpoint, source.Secret = storage.GCS.Endpoint, storage.GCS.GCPSecret
	case v1beta2.StorageOSS:
		return source, notSupported(field + " OSS is not supported: OSS speaks the S3 protocol, so write S3 and an s3 block with its endpoint")
	case v1beta2.StorageABS:
		return source, notSupported(field + " ABS is not supported: copy the snapshot to S3 or GCS and name it there")
	default:
		return source, notSupported(fmt.Sprintf("%s %q is not known: write S3 or GCS", field, kind))
	}
	bucket, key, ok := strings.Cut(path, "/")
	if !ok || bucket == "" || key == "" || strings.HasSuffix(key, "/") {
		return source, invalid(fmt.Sprintf(`path %q does not name an object: write "<bucket>/<key>"`, path))
	}
	if strings.ContainsFunc(bucket, notInBucketName) {
		return source, invalid(fmt.Sprintf("path %q: the bucket's name may have letters, digits, hyphens, underscores and dots", path))
	}
	if source.Endpoint != "" && badURL(source.Endpoint) {
		return source, invalid("the endpoint of the store is not a URL: write https://host or https://host:port, without user and password")
	}
	source.Bucket, source.Key = bucket, key
	return source, nil
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

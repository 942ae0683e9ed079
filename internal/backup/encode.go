package backup

import (
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore/connect"
	"github.com/etcd-suite/etcd-operator/internal/objstore/s3"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// encoder makes the objects that the spec asks for.
func encoder(spec v1beta2.EtcdBackupSpec) snapshot.Encoder {
	e := snapshot.Encoder{Compression: string(spec.Compression)}
	if spec.Encryption != nil {
		e.Recipients = spec.Encryption.Age.Recipients
	}
	return e
}

// storeOptions say how the store is to keep objects.
func storeOptions(storage v1beta2.Storage) connect.Options {
	var o connect.Options
	if storage.GCS != nil {
		o.KMSKeyName, o.StorageClass = storage.GCS.KMSKeyName, storage.GCS.StorageClass
	}
	if storage.S3 == nil {
		return o
	}
	spec := storage.S3.S3Options
	o.S3.StorageClass, o.S3.Tags = spec.StorageClass, spec.Tags
	if e := spec.ServerSideEncryption; e != nil {
		switch e.Type {
		case v1beta2.SSES3:
			o.S3.Encryption = s3.SSES3
		case v1beta2.SSEKMS:
			o.S3.Encryption, o.S3.KMSKeyID = s3.SSEKMS, e.KMSKeyID
		}
	}
	if l := spec.ObjectLock; l != nil {
		o.S3.LockMode = string(l.Mode)
		if l.RetainDays != nil {
			o.S3.RetainFor = time.Duration(*l.RetainDays) * 24 * time.Hour
		}
		if l.RetainUntil != nil {
			o.S3.RetainUntil = l.RetainUntil.Time
		}
	}
	return o
}

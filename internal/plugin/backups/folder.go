package backups

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Folder returns the block of a store for reading a folder below its path. Options that apply only to writing are left out.
func Folder(of v1beta2.Storage, below string) v1beta2.Storage {
	block := forReading(of)
	for _, path := range paths(&block) {
		*path = strings.TrimSuffix(*path, "/") + "/" + below
	}
	return block
}

// SamePlace reports whether two blocks name the same folder of the same store.
func SamePlace(a, b v1beta2.Storage) bool {
	return strings.TrimSuffix(Path(a), "/") == strings.TrimSuffix(Path(b), "/") && strings.TrimSuffix(Endpoint(a), "/") == strings.TrimSuffix(Endpoint(b), "/")
}

// Endpoint returns the URL of a store; empty for that of its provider.
func Endpoint(of v1beta2.Storage) string {
	switch {
	case of.S3 != nil:
		return of.S3.Endpoint
	case of.GCS != nil:
		return of.GCS.Endpoint
	case of.ABS != nil:
		return of.ABS.Endpoint
	}
	return ""
}

// forReading returns the block of a store without the options that apply only to writing.
func forReading(of v1beta2.Storage) v1beta2.Storage {
	block := *of.DeepCopy()
	if block.S3 != nil {
		block.S3.StorageClass, block.S3.ObjectLock, block.S3.Tags = "", nil, nil
	}
	if block.GCS != nil {
		block.GCS.StorageClass, block.GCS.KMSKeyName = "", ""
	}
	return block
}

// SecretOf returns the name of the Secret of a store.
func SecretOf(of v1beta2.Storage) string {
	switch {
	case of.S3 != nil:
		return of.S3.AWSSecret
	case of.GCS != nil:
		return of.GCS.GCPSecret
	case of.ABS != nil:
		return of.ABS.ABSSecret
	}
	return ""
}

// Package storage translates the storage block of a spec into a Location, and a
// Location into the other forms that it takes: the source in a status and the
// arguments of the seed. It links no object store; package connect opens one.
//
// Each provider has one entry in the table providers, in a file of its own.
package storage

import (
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// Location is one place in an object store.
type Location struct {
	Provider v1beta2.StorageType
	Bucket   string
	// Key of one object, or a folder: the beginning of the keys below it.
	Key string
	// Endpoint of the store. Empty means the provider's own.
	Endpoint       string
	Region         string
	ForcePathStyle bool
	// Secret is the name of the Secret with the credentials. Empty means the ambient identity.
	Secret string
	// CustomerKey: the key sse-customer-key of the Secret encrypts the objects (SSE-C).
	CustomerKey bool
	// Options for writing. Reading needs none of them.
	Options Options
}

// Options say how a store keeps what is written, one field for each provider that has options.
type Options struct {
	S3  v1beta2.S3Options
	GCS v1beta2.GCSOptions
}

// Path is "<bucket>/<key>".
func (l Location) Path() string { return l.Bucket + "/" + l.Key }

// Store identifies the store of the location, whatever the bucket. Buckets with the same name in two stores are different buckets.
func (l Location) Store() string {
	id := string(l.Provider)
	if endpoint := strings.ToLower(strings.TrimRight(l.Endpoint, "/")); endpoint != "" {
		id += " " + endpoint
	}
	if l.Region != "" {
		id += " " + l.Region
	}
	return id
}

// Has reports whether a path that an EtcdBackup's status names is in the store and the bucket of the location. Another endpoint has other objects at
// the same path. A status of an earlier version does not name the store. Then the store counts as the same. To conclude something from the path,
// ask source.Present.
func (l Location) Has(status v1beta2.EtcdBackupStatus, path string) bool {
	return l.IsStoreOf(status) && strings.HasPrefix(path, l.Bucket+"/")
}

// IsStoreOf reports whether the newest snapshot of an EtcdBackup's status was saved to the store of the location, whatever the bucket.
func (l Location) IsStoreOf(status v1beta2.EtcdBackupStatus) bool {
	return status.SnapshotStore == "" || status.SnapshotStore == l.Store()
}

// Identity names who asks the store, for messages about a refused request.
func (l Location) Identity() string {
	if l.Secret == "" {
		return "the operator's own identity (no Secret is named)"
	}
	return "the identity in Secret " + l.Secret
}

// Source is the location as an EtcdRestore's status records it.
func (l Location) Source() v1beta2.RestoreSource {
	return v1beta2.RestoreSource{
		StorageType: l.Provider, Bucket: l.Bucket, Key: l.Key, Endpoint: l.Endpoint,
		Region: l.Region, ForcePathStyle: l.ForcePathStyle, CustomerKey: l.CustomerKey, Secret: l.Secret,
	}
}

// FromSource is the inverse of Location.Source.
func FromSource(s v1beta2.RestoreSource) Location {
	return Location{
		Provider: s.StorageType, Bucket: s.Bucket, Key: s.Key, Endpoint: s.Endpoint,
		Region: s.Region, ForcePathStyle: s.ForcePathStyle, CustomerKey: s.CustomerKey, Secret: s.Secret,
	}
}

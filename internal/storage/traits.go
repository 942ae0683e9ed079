package storage

import "github.com/etcd-suite/etcd-operator/api/v1beta2"

// provider is one supported storage type.
type provider struct {
	name v1beta2.StorageType
	// block is the name of its field in a spec.
	block string
	// read returns the path of the block, and everything that the Location takes from
	// it apart from Provider, Bucket and Key. ok is false if the block is missing.
	read func(v1beta2.Storage) (path string, l Location, ok bool)
}

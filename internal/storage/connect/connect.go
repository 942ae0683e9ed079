// Package connect opens the object store of a storage.Location with the
// credentials in its Secret. Each provider has one entry in the table stores, in a
// file of its own, which lists the keys that its Secret may have.
package connect

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// Access is a Location and what is needed to open it.
type Access struct {
	storage.Location
	// Data of the Secret. Nil means the ambient identity.
	Data map[string][]byte
	// NoOwnIdentity refuses to use the ambient identity.
	NoOwnIdentity bool
	// Patience is how long the store may be silent before a request is tried again. 0 means stall.DefaultLimit.
	Patience time.Duration
}

// stores open the store of each provider.
var stores = map[v1beta2.StorageType]func(context.Context, Access) (objstore.Store, error){
	v1beta2.StorageS3:  openS3,
	v1beta2.StorageGCS: openGCS,
	v1beta2.StorageABS: openABS,
	File:               openFile,
}

// ambient reports whether the store would be opened with the ambient identity: the Secret has no credential.
func (a Access) ambient() bool {
	return a.Data == nil || secretData(a.Data).ambient("region", "AWS_REGION", "storage-account", "cloud")
}

// Open opens the store. Its errors name keys of the Secret, never values.
func Open(ctx context.Context, a Access) (objstore.Store, error) {
	open, ok := stores[a.Provider]
	switch {
	case a.Bucket == "":
		return nil, fmt.Errorf("no bucket is named: write the path as <bucket>/<key>")
	case !ok:
		return nil, fmt.Errorf("storage type %q is not supported: write %s", a.Provider, storage.OneOf())
	case a.NoOwnIdentity && a.ambient():
		return nil, fmt.Errorf("this namespace may not use the operator's own identity for %s: name a Secret with credentials. "+
			"Or add the namespace to backupOperator.ownIdentityNamespaces in the values of the chart", a.Path())
	}
	return open(ctx, a)
}

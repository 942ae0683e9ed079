// Package connect opens the object store of a storage.Location with the
// credentials in its Secret. Each provider has one entry in the table stores, in a
// file of its own, which lists the keys that its Secret may have.
package connect

import (
	"context"
	"fmt"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/storage"
)

// stores open the store of each provider.
var stores = map[v1beta2.StorageType]func(context.Context, Access) (objstore.Store, error){
	v1beta2.StorageS3:  openS3,
	v1beta2.StorageGCS: openGCS,
	v1beta2.StorageABS: openABS,
	File:               openFile,
}

// Check returns what is wrong with the Access before the store is opened.
func (a Access) Check() error {
	_, ok := stores[a.Provider]
	switch {
	case a.Bucket == "":
		return fmt.Errorf("no bucket is named: write the path as <bucket>/<key>")
	case !ok:
		return fmt.Errorf("storage type %q is not supported: write %s", a.Provider, storage.OneOf())
	}
	allows := a.allows()
	if allows(folder(a.Key)) != nil { // the key of a series is a folder, which may have no slash at its end
		if err := allows(a.Key); err != nil {
			return err
		}
	}
	return a.aimed()
}

// Open opens the store. Its errors name keys of the Secret, never values.
func Open(ctx context.Context, a Access) (objstore.Store, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	store, err := stores[a.Provider](ctx, a)
	if err != nil {
		return nil, err
	}
	return gate(objstore.Bounded(store, limits), a.allows()), nil
}

// limits bound the listings of all stores.
var limits = objstore.DefaultLimits

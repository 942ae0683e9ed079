package source

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// OpenArchive opens the store of the continuous archive of a cluster, which is "<namespace>/<name>". The key of src is the folder of the cluster's series.
func OpenArchive(ctx context.Context, src v1beta2.RestoreSource, by By, cluster string) (store objstore.Store, root string, err error) {
	namespace, name, found := strings.Cut(cluster, "/")
	folder, within := strings.CutSuffix(strings.TrimSuffix(src.Key, "/"), path.Join(namespace, name))
	if !found || !within {
		return nil, "", fmt.Errorf("%w: the folder %q is not that of the cluster %q", ErrConfig, src.Key, cluster)
	}
	store, err = open(ctx, src, by)
	return store, archive.Root(strings.TrimSuffix(folder, "/"), namespace, name), err
}

// ReadBase reads the snapshot with which a standby begins into dir, and compares it with its manifest. The check of its structure needs memory for each key, which a
// member's Pod may not have, and importing it reads the whole database.
func ReadBase(ctx context.Context, src v1beta2.RestoreSource, by By, dir string) (Proven, error) {
	store, err := open(ctx, src, by)
	if err != nil {
		return Proven{}, err
	}
	m, err := snapshot.ManifestOf(ctx, store, src.Key, by.Signers)
	if err == nil && m == nil {
		err = fmt.Errorf("%s has no manifest: %w", src.Key, fs.ErrNotExist)
	}
	if err != nil {
		return Proven{}, err
	}
	return ReadAgain(ctx, src, by, dir, nil, m.SHA256)
}

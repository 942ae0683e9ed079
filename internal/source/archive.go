package source

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
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

// ReadAlone is Read into a directory of a volume that no other namespace uses, so it reserves no room.
func ReadAlone(ctx context.Context, src v1beta2.RestoreSource, by By, dir string) (Proven, error) {
	return Read(ctx, src, by, proof.Alone(dir), nil)
}

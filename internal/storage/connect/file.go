package connect

import (
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

// File is a directory, whose path is the bucket. Only tests use it: a user of the
// cluster must not choose a directory of the operator, so no spec leads to it.
const File v1beta2.StorageType = "File"

func openFile(_ context.Context, a Access) (objstore.Store, error) { return file.Open(a.Bucket) }

package connect

import (
	"context"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/file"
)

func openFile(_ context.Context, a Access) (objstore.Store, error) { return file.Open(a.Bucket) }

package source

import (
	"context"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
)

// SizeOf returns how many bytes Read writes to the disk: the size of the object, or of the snapshot in it. It is 0 if the store
// does not tell, and Read will explain why.
func SizeOf(ctx context.Context, src v1beta2.RestoreSource, by By) (int64, error) {
	store, err := open(ctx, src, by)
	if err != nil {
		return 0, err
	}
	return max(sizeOf(ctx, store, src.Key), plainSizeOf(ctx, store, src.Key)), nil
}

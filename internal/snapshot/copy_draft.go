package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// dropDrafts deletes the drafts of complete copies, which an interrupted run has left. A draft that cannot be deleted does no harm.
func (r CopyRequest) dropDrafts(ctx context.Context, to Index) {
	for _, draft := range to.completeDrafts() {
		_ = r.To.Delete(ctx, draft)
	}
}

// draft writes the draft of a copy, and returns its name. It is empty if the name would be too long.
func (r CopyRequest) draft(ctx context.Context, key string, m Manifest) (string, error) {
	name, fits := draftKey(key, m.SHA256)
	if !fits {
		return "", nil
	}
	content, err := m.Encode()
	if err != nil {
		return "", err
	}
	if err := r.To.Put(ctx, name, objstore.NewMetadata(content)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("write draft of the manifest: %w", err)
	}
	return name, nil
}

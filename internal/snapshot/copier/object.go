package copier

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/save"
)

// copyOne copies an object and then its manifest.
func (r Request) copyOne(ctx context.Context, source string, m snapshot.Manifest) error {
	key := r.keyOf(source)
	body, err := r.From.Get(ctx, source)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer body.Close()
	checked := &save.CheckedBody{Body: body, Sum: sha256.New(), Manifest: m}
	if r.Progress != nil {
		checked.Progress = r.Progress(source, m.Size)
	}
	draft, err := r.draft(ctx, key, m)
	if err != nil {
		return err
	}
	err = r.To.Put(ctx, key, checked)
	switch {
	case checked.Err != nil:
		err = fmt.Errorf("%w: %w", ErrSource, checked.Err) // the store's error only repeats it
	case errors.Is(err, fs.ErrExist):
		err = r.compare(ctx, key, m)
	}
	if draft != "" && (checked.Err != nil || errors.Is(err, fs.ErrExist)) {
		_ = r.To.Delete(ctx, draft) // there is no object of ours
	}
	if err != nil {
		return err
	}
	request := save.Request{Store: r.To, Key: key, Signers: r.Signers}
	object, err := request.Stat(ctx)
	if err == nil && object.Size != m.Size {
		err = fmt.Errorf("the second location has %d bytes of %d: delete the object", object.Size, m.Size)
	}
	if err != nil {
		return err
	}
	if _, err = request.Commit(ctx, save.Saved{Manifest: m}); err == nil && draft != "" {
		_ = r.To.Delete(ctx, draft) // otherwise a later run deletes it as a leftover
	}
	return err
}

// compare reads an object that exists without a manifest. An earlier run has written it, and was interrupted.
func (r Request) compare(ctx context.Context, key string, m snapshot.Manifest) error {
	err := save.Matches(ctx, r.To, key, m)
	if errors.Is(err, dbfile.ErrCorrupt) {
		return fmt.Errorf("%w: another object is under the key %s in the second location: delete it", fs.ErrExist, key)
	}
	return err
}

// dropDrafts deletes the drafts of complete copies, which an interrupted run has left. A draft that cannot be deleted does no harm.
func (r Request) dropDrafts(ctx context.Context, to catalog.Index) {
	for _, draft := range to.CompleteDrafts() {
		_ = r.To.Delete(ctx, draft)
	}
}

// draft writes the draft of a copy, and returns its name. It is empty if the name would be too long.
func (r Request) draft(ctx context.Context, key string, m snapshot.Manifest) (string, error) {
	name, fits := snapshot.DraftKey(key, m.SHA256)
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

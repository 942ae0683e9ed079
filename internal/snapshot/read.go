package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// ManifestOf returns the manifest of an object, or nil if it has none. The error is ErrNewerFormat if only a newer version
// of the suite can read the object. If signers are given, an object without a manifest is ErrNotSigned.
func ManifestOf(ctx context.Context, store objstore.Getter, key string, by Signers) (*Manifest, error) {
	m, err := ReadManifest(ctx, store, key, by)
	switch {
	case err == nil:
		return &m, m.readable()
	case by.Required() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrManifest)):
		if body, missing := store.Get(ctx, key); errors.Is(missing, fs.ErrNotExist) {
			return nil, missing
		} else if missing == nil {
			_ = body.Close()
		}
		return nil, fmt.Errorf("%w: a manifest with a signature by key %s is required: %s", ErrNotSigned, by, err.Error())
	case by.Required():
		return nil, err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrManifest):
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		// Without the permission to list, S3 answers 403 for a missing key. If the permission to read is missing too,
		// reading the object fails later.
		return nil, nil
	}
	return nil, err
}

// ReadManifest reads the manifest of the snapshot under key, and checks its signature.
func ReadManifest(ctx context.Context, store objstore.Getter, key string, by Signers) (Manifest, error) {
	return ReadManifestAt(ctx, store, key, ManifestKey(key), by)
}

// ReadManifestAt reads a manifest of the snapshot under key, which may be a draft with another name.
func ReadManifestAt(ctx context.Context, store objstore.Getter, key, name string, by Signers) (Manifest, error) {
	body, err := store.Get(ctx, name)
	if err != nil {
		return Manifest{}, err
	}
	defer body.Close()
	counted := objstore.Count(ctx, body)
	defer counted.Done()
	content, err := io.ReadAll(io.LimitReader(counted, maxManifest+1))
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest %s: %w", name, err)
	}
	if len(content) > maxManifest {
		return Manifest{}, fmt.Errorf("read manifest %s: %w: it is larger than %d bytes", name, ErrManifest, maxManifest)
	}
	m, err := DecodeManifest(content)
	if err == nil {
		err = by.Check(key, m)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return m, nil
}

// NoDraft reports whether an error means that there is no draft that can be used.
func NoDraft(err error) bool {
	for _, known := range []error{fs.ErrNotExist, fs.ErrPermission, ErrManifest, ErrNewerFormat} {
		if errors.Is(err, known) {
			return true
		}
	}
	return OfSignature(err)
}

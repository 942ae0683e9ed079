package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// manifestOfSent returns the signed manifest of the snapshot that this try has streamed.
func (r Request) manifestOfSent(f facts) Manifest {
	m := r.manifest(f, r.Time)
	m.EtcdVersion, m.Recovery = r.EtcdVersion, r.Recovery
	if !f.captured.IsZero() {
		// Rounded up, so that no write after it is in the snapshot.
		m.CapturedAt = f.captured.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
	}
	return r.Signer.Sign(r.Key, m)
}

// commit writes the manifest. If there is one already, it must be of the same attempt and describe the same object: another
// process has written it, or this one has and the store's answer was lost. A manifest of another attempt belongs to another
// EtcdBackup, which deletes the snapshot by its own retention.
func (r Request) commit(ctx context.Context, saved Saved) (Saved, error) {
	content, err := saved.Manifest.Encode()
	if err != nil {
		return Saved{}, err
	}
	err = r.Store.Put(ctx, ManifestKey(r.Key), objstore.NewMetadata(content))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return saved, fmt.Errorf("the object is complete, and the store does not take its manifest: %w", err)
	}
	if err == nil {
		return saved, nil
	}
	there, readErr := readManifest(ctx, r.Store, r.Key, r.Signers)
	if OfSignature(readErr) {
		return Saved{}, r.taken(readErr.Error())
	}
	if readErr != nil {
		return Saved{}, errors.Join(err, readErr)
	}
	if there.SHA256 != saved.Manifest.SHA256 {
		return Saved{}, err
	}
	if there.Attempt != saved.Manifest.Attempt {
		return Saved{}, r.taken("a snapshot of " + there.CreatedAt.Format(time.RFC3339) + " has this key")
	}
	saved.Manifest = there
	return saved, nil
}

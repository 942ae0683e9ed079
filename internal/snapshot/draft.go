package snapshot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A draft is a copy of the manifest of an encrypted object whose key is the same in every try. Save writes it under its
// own name before the object is complete, and deletes it after the manifest is written. If the process is killed in
// between, the next try recognises the object by its draft, although it cannot decrypt the object.

// The name of a draft is the object's key, draftMark and the first 16 hex digits of the object's SHA-256. The drafts of
// two tries have different names, because age encrypts the same content differently each time.
const (
	draftMark   = ".draft-"
	draftDigits = 16
)

// draftKey returns the name of a draft. ok is false if the name would be too long for a store.
func draftKey(key, sha256 string) (name string, ok bool) {
	name = key + draftMark + sha256[:draftDigits]
	return name, len(name) <= maxKey
}

// ofDraft reports whether name is the name of a draft of the object under key.
func ofDraft(key, name string) bool {
	digits, ok := strings.CutPrefix(name, key+draftMark)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == draftDigits
}

// drafts reports whether the request writes drafts.
func (r Request) drafts() bool {
	return r.Again && r.Attempt != "" && r.Encoder.Encoding().Encryption != ""
}

// draft writes the draft of a verified object that is about to be completed.
func (r Request) draft(ctx context.Context, f facts) error {
	name, fits := draftKey(r.Key, f.object.SHA256)
	if !r.drafts() || !fits {
		return nil
	}
	content, err := r.manifestOfSent(f).Encode()
	if err != nil {
		return err
	}
	err = r.Store.Put(ctx, name, objstore.NewMetadata(content))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write draft of the manifest: %w", err)
	}
	return nil
}

// adoptUnread commits an object that cannot be decrypted here, if a draft of the same attempt has the SHA-256 and size of
// the object.
func (r Request) adoptUnread(ctx context.Context, there object) (Saved, error) {
	const why = "it has no manifest and is encrypted"
	name, fits := draftKey(r.Key, there.SHA256)
	if !r.drafts() || !fits {
		return Saved{}, r.taken(why)
	}
	m, err := readManifestAt(ctx, r.Store, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, ErrManifest), errors.Is(err, ErrNewerFormat):
		return Saved{}, r.taken(why)
	case err != nil:
		return Saved{}, err
	case m.Attempt != r.Attempt || m.SHA256 != there.SHA256 || m.Size != there.Size:
		return Saved{}, r.taken(why)
	}
	return r.commit(ctx, Saved{Manifest: m, Found: true})
}

// dropDrafts deletes the drafts of a saved snapshot. Without the permission to list or delete, they are kept: they are
// small and are never listed as snapshots.
func (r Request) dropDrafts(ctx context.Context) error {
	if !r.drafts() {
		return nil
	}
	err := DropDrafts(ctx, r.Store, r.Key, r.Attempt)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// DropDrafts deletes the drafts of the object under key whose attempt begins with mark.
func DropDrafts(ctx context.Context, store objstore.Store, key, mark string) error {
	var names []string
	for found, err := range store.List(ctx, key+draftMark) {
		if err != nil {
			return fmt.Errorf("find drafts: %w", err)
		}
		if ofDraft(key, found.Key) {
			names = append(names, found.Key)
		}
	}
	for _, name := range names {
		m, err := readManifestAt(ctx, store, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrManifest) || errors.Is(err, ErrNewerFormat) || err == nil && !strings.HasPrefix(m.Attempt, mark) {
			continue // deleted meanwhile, or foreign
		}
		if err != nil {
			return fmt.Errorf("find drafts: %w", err)
		}
		if err := store.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete draft: %w", err)
		}
	}
	return nil
}

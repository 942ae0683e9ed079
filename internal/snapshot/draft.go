package snapshot

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// A draft is the manifest of an encrypted object whose key stays the same in every try,
// written under a name of its own before the object is completed. Whoever is killed
// between object and manifest leaves it, and by it the next try knows the object as
// its own without being able to read it. It goes when the manifest is there.

// draftMark and the first 16 hex digits of the object's SHA-256 are behind the object's
// key: two tries never meet, since age never encrypts alike.
const (
	draftMark   = ".draft-"
	draftDigits = 16
)

// draftKey is false where the key is too long to have a draft.
func draftKey(key, sha256 string) (name string, ok bool) {
	name = key + draftMark + sha256[:draftDigits]
	return name, len(name) <= maxKey
}

// ofDraft says whether name is of a draft of the object under key.
func ofDraft(key, name string) bool {
	digits, ok := strings.CutPrefix(name, key+draftMark)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == draftDigits
}

// drafts says whether the request has drafts.
func (r Request) drafts() bool {
	return r.Again && r.Attempt != "" && r.Encoder.Encoding().Encryption != ""
}

// draft writes the one of what was proven and is about to be completed.
func (r Request) draft(ctx context.Context, f facts) error {
	name, fits := draftKey(r.Key, f.object.SHA256)
	if !r.drafts() || !fits {
		return nil
	}
	content, err := r.manifestOfSent(f).Encode()
	if err != nil {
		return err
	}
	err = r.Store.Put(ctx, name, bytes.NewReader(content))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the draft of the manifest: %w", err)
	}
	return nil
}

// adoptUnread commits an object that cannot be decrypted here, if a draft of the same
// attempt is of exactly these bytes.
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

// dropDrafts removes those of a snapshot that is saved. Who may not list or delete
// keeps them: they are small, and no snapshot.
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

// DropDrafts removes the drafts of the object under key whose attempt begins with mark.
func DropDrafts(ctx context.Context, store objstore.Store, key, mark string) error {
	var names []string
	for found, err := range store.List(ctx, key+draftMark) {
		if err != nil {
			return fmt.Errorf("look for drafts: %w", err)
		}
		if ofDraft(key, found.Key) {
			names = append(names, found.Key)
		}
	}
	for _, name := range names {
		m, err := readManifestAt(ctx, store, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrManifest) || errors.Is(err, ErrNewerFormat) || err == nil && !strings.HasPrefix(m.Attempt, mark) {
			continue // gone, or not ours
		}
		if err != nil {
			return fmt.Errorf("look for drafts: %w", err)
		}
		if err := store.Delete(ctx, name); err != nil {
			return fmt.Errorf("remove draft: %w", err)
		}
	}
	return nil
}

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

// A draft is a copy of the manifest. Save writes it under its own name before the object is complete, and deletes it after the
// manifest is written. If the process is killed in between, the draft tells who has written the object:
//   - In a series, the next run writes the manifest of an object with a draft of the same EtcdBackup, see Drafted.
//   - If the key is the same in every try, the next try recognises an encrypted object, although it cannot decrypt it. It
//     also sees that a plain object was taken without a quorum. It recognises other plain objects by the members that they list,
//     without a draft, if the request names the members and is not signed. A signed draft proves who has written the object.

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

// draftedKey returns the key of the object that a draft describes.
func draftedKey(name string) (key string, ok bool) {
	i := strings.LastIndex(name, draftMark)
	if i < 0 || !ofDraft(name[:i], name) {
		return "", false
	}
	return name[:i], true
}

// IsDraft reports whether name is the name of a draft.
func IsDraft(name string) bool {
	_, ok := draftedKey(name)
	return ok
}

// ofDraft reports whether name is the name of a draft of the object under key.
func ofDraft(key, name string) bool {
	digits, ok := strings.CutPrefix(name, key+draftMark)
	_, err := hex.DecodeString(digits)
	return ok && err == nil && len(digits) == draftDigits
}

// drafts reports whether the request writes drafts.
func (r Request) drafts() bool {
	return r.Attempt != "" && (!r.Again || r.NoQuorum || r.Encoder.Encoding().Encryption != "" || r.Signer != nil || len(r.MemberIDs) == 0)
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
	m, found, err := r.drafted(ctx, there)
	if err == nil && !found {
		err = r.taken("it has no manifest and is encrypted")
	}
	return r.commitFound(ctx, m, err)
}

// commitFound commits an object of an earlier try by the manifest of its draft.
func (r Request) commitFound(ctx context.Context, m Manifest, err error) (Saved, error) {
	if err != nil {
		return Saved{}, err
	}
	return r.commit(ctx, Saved{Manifest: m, Found: true})
}

// drafted returns the manifest of the object in the draft of an earlier try of the same attempt. found is false without such
// a draft.
func (r Request) drafted(ctx context.Context, there object) (m Manifest, found bool, err error) {
	name, fits := draftKey(r.Key, there.SHA256)
	if !r.Again || r.Attempt == "" || !fits {
		return Manifest{}, false, nil
	}
	m, err = readManifestAt(ctx, r.Store, r.Key, name, r.Signers)
	switch {
	case err != nil && noDraft(err):
		return Manifest{}, false, nil
	case err != nil:
		return Manifest{}, false, err
	}
	return m, m.Attempt == r.Attempt && m.SHA256 == there.SHA256 && m.Size == there.Size, nil
}

// dropDrafts deletes the drafts of a saved snapshot. Without the permission to list or delete, they are kept: they are
// small and are never listed as snapshots.
//
// In a series, each try has its own key and so one draft. If it cannot be deleted, the snapshot is still good, and a later run
// deletes the draft as a leftover.
func (r Request) dropDrafts(ctx context.Context, saved Manifest) error {
	if !r.drafts() && !saved.NoQuorum {
		return nil
	}
	if !r.Again {
		if name, fits := draftKey(r.Key, saved.SHA256); fits {
			_ = r.Store.Delete(ctx, name)
		}
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
	var errs objstore.Errors
	drafts := objstore.Matching(store.List(objstore.Unheld(ctx), key+draftMark), func(o objstore.Object) bool { return ofDraft(key, o.Key) })
	listed := objstore.EachListed(ctx, 1, drafts, &errs, func(found objstore.Object) error {
		name := found.Key
		m, err := readManifestAt(ctx, store, key, name, Anyone)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrManifest) || errors.Is(err, ErrNewerFormat) || err == nil && !strings.HasPrefix(m.Attempt, mark) {
			return nil // deleted meanwhile, or foreign
		}
		if err != nil {
			return fmt.Errorf("find drafts: %w", err)
		}
		if err := store.Delete(ctx, name); err != nil {
			return fmt.Errorf("delete draft: %w", err)
		}
		return nil
	})
	if err := errs.Err(); err != nil || listed == nil {
		return err
	}
	return fmt.Errorf("find drafts: %w", listed)
}

package save

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// drafts reports whether the request writes drafts.
func (r Request) drafts() bool {
	return r.Attempt != "" && (!r.Again || r.NoQuorum || r.Encoder.Encoding().Encryption != "" || r.Signer != nil || len(r.MemberIDs) == 0)
}

// draft writes the draft of a verified object that is about to be completed.
func (r Request) draft(ctx context.Context, f proof.Facts) error {
	name, fits := snapshot.DraftKey(r.Key, f.Object.SHA256)
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
func (r Request) adoptUnread(ctx context.Context, there proof.Object) (Saved, error) {
	m, found, err := r.drafted(ctx, there)
	if err == nil && !found {
		err = taken("it has no manifest and is encrypted")
	}
	return r.commitFound(ctx, m, err)
}

// commitFound commits an object of an earlier try by the manifest of its draft.
func (r Request) commitFound(ctx context.Context, m snapshot.Manifest, err error) (Saved, error) {
	if err != nil {
		return Saved{}, err
	}
	return r.Commit(ctx, Saved{Manifest: m, Found: true})
}

// drafted returns the manifest of the object in the draft of an earlier try of the same attempt. found is false without such
// a draft.
func (r Request) drafted(ctx context.Context, there proof.Object) (m snapshot.Manifest, found bool, err error) {
	name, fits := snapshot.DraftKey(r.Key, there.SHA256)
	if !r.Again || r.Attempt == "" || !fits {
		return snapshot.Manifest{}, false, nil
	}
	m, err = snapshot.ReadManifestAt(ctx, r.Store, r.Key, name, r.Signers)
	switch {
	case err != nil && snapshot.NoDraft(err):
		return snapshot.Manifest{}, false, nil
	case err != nil:
		return snapshot.Manifest{}, false, err
	}
	return m, m.Attempt == r.Attempt && m.SHA256 == there.SHA256 && m.Size == there.Size, nil
}

// dropDrafts deletes the drafts of a saved snapshot. Without the permission to list or delete, they are kept: they are
// small and are never listed as snapshots.
//
// In a series, each try has its own key and so one draft. If it cannot be deleted, the snapshot is still good, and a later run
// deletes the draft as a leftover.
func (r Request) dropDrafts(ctx context.Context, saved snapshot.Manifest) error {
	if !r.drafts() && !saved.NoQuorum {
		return nil
	}
	if !r.Again {
		if name, fits := snapshot.DraftKey(r.Key, saved.SHA256); fits {
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
	drafts := objstore.Matching(store.List(objstore.Unheld(ctx), key+snapshot.DraftMark), func(o objstore.Object) bool { return snapshot.OfDraft(key, o.Key) })
	listed := objstore.EachListed(ctx, 1, drafts, &errs, func(found objstore.Object) error {
		name := found.Key
		m, err := snapshot.ReadManifestAt(ctx, store, key, name, snapshot.Anyone)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, snapshot.ErrManifest) || errors.Is(err, snapshot.ErrNewerFormat) || err == nil && !strings.HasPrefix(m.Attempt, mark) {
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

package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// failedKey is the key of a second record of a failed proof. A listing may omit the first one, whose name has revisions, so it cannot be asked
// for. This name is fixed.
func failedKey(root string) string { return root + proofFolder + "last." + proofFailed }

// askFailed asks for a failed proof that a listing omits. Only the store's answer about that very object proves that no proof has failed. A store
// that refuses to say it counts as one without the record, because it refuses the same for objects that do not exist.
func askFailed(ctx context.Context, store objstore.Getter, root string) (n ProofName, found bool, err error) {
	last, err := readFailed(ctx, store, root)
	switch {
	case errors.Is(err, objstore.ErrNoBucket):
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, ErrCorrupt):
		return n, false, nil
	}
	if err != nil {
		return n, false, fmt.Errorf("ask for a failed proof of the archive %s: %w", root, err)
	}
	gone, err := objstore.Gone(ctx, store, last.Key(root))
	if errors.Is(err, objstore.ErrNoBucket) || ctx.Err() != nil { // of any other error, the first record may exist, and holds deletions
		return n, false, fmt.Errorf("ask for a failed proof of the archive %s: %w", root, err)
	}
	return last.ProofName, !gone, nil
}

func readFailed(ctx context.Context, store objstore.Getter, root string) (Proof, error) {
	body, err := store.Get(ctx, failedKey(root))
	if err != nil {
		return Proof{}, err
	}
	defer body.Close()
	var p Proof
	err = bounded.Read(body, &p)
	if err == nil && (!p.Failed || p.Timeline < 1) {
		err = errors.New("it names no failed proof")
	}
	if err != nil {
		return Proof{}, fmt.Errorf("%w: the record %s: %w", ErrCorrupt, failedKey(root), err)
	}
	return p, nil
}

// recordFailed writes the second record of a failed proof. An earlier one is kept while its proof and its snapshot exist: one of them is enough to
// hold all deletions.
func recordFailed(ctx context.Context, store objstore.Store, root string, content []byte) error {
	put := func() error { return store.Put(ctx, failedKey(root), objstore.NewMetadata(content)) }
	err := put()
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	last, err := readFailed(ctx, store, root)
	if err == nil {
		var noProof, noSnapshot bool
		noProof, err = objstore.Gone(ctx, store, last.Key(root))
		if err == nil && !noProof {
			noSnapshot, err = objstore.Gone(ctx, store, last.FromKey)
		}
		if err == nil && !noProof && !noSnapshot {
			return nil
		}
	}
	if err == nil || errors.Is(err, ErrCorrupt) {
		if err = store.Delete(ctx, failedKey(root)); err == nil {
			err = put()
		}
	}
	if errors.Is(err, fs.ErrPermission) { // an archived object, or a store that keeps each object; the listing has the first record
		return nil
	}
	return err
}

// DropFailed deletes the second record of a failed proof if it is of a timeline that is deleted.
func DropFailed(ctx context.Context, store objstore.Store, root string, t Timeline) error {
	last, err := readFailed(ctx, store, root)
	switch {
	case errors.Is(err, objstore.ErrNoBucket):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, ErrCorrupt):
		return nil
	case err != nil || last.Timeline != t:
		return err
	}
	return store.Delete(ctx, failedKey(root))
}

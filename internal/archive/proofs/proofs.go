// Package proofs reads and writes which parts of a continuous archive a restore test has proven, as objects beside the archive.
package proofs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// failedKey is the key of a second record of a failed proof. A listing may omit the first one, whose name has revisions, so it cannot be asked
// for. This name is fixed.
func failedKey(root string) string { return root + archive.ProofFolder + "last." + archive.ProofFailed }

// askFailed asks for a failed proof that a listing omits. Only the store's answer about that very object proves that no proof has failed. A store
// that refuses to say it counts as one without the record, because it refuses the same for objects that do not exist.
func askFailed(ctx context.Context, store objstore.Getter, root string) (n archive.ProofName, found bool, err error) {
	last, err := readFailed(ctx, store, root)
	switch {
	case errors.Is(err, objstore.ErrNoBucket):
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, archive.ErrCorrupt):
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

func readFailed(ctx context.Context, store objstore.Getter, root string) (archive.Proof, error) {
	body, err := store.Get(ctx, failedKey(root))
	if err != nil {
		return archive.Proof{}, err
	}
	defer body.Close()
	var p archive.Proof
	err = bounded.Read(body, &p)
	if err == nil && (!p.Failed || p.Timeline < 1) {
		err = errors.New("it names no failed proof")
	}
	if err != nil {
		return archive.Proof{}, fmt.Errorf("%w: the record %s: %w", archive.ErrCorrupt, failedKey(root), err)
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
	if err == nil || errors.Is(err, archive.ErrCorrupt) {
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
func DropFailed(ctx context.Context, store objstore.Store, root string, t archive.Timeline) error {
	last, err := readFailed(ctx, store, root)
	switch {
	case errors.Is(err, objstore.ErrNoBucket):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, archive.ErrCorrupt):
		return nil
	case err != nil || last.Timeline != t:
		return err
	}
	return store.Delete(ctx, failedKey(root))
}

// List lists the proofs of an archive, oldest first. It always asks for a failed one that the listing omits: an older failed one that is listed may
// hold nothing any more, because its snapshot was deleted.
func List(ctx context.Context, store objstore.Store, root string) ([]archive.ProofName, error) {
	var found []archive.ProofName
	for object, err := range store.List(ctx, root+archive.ProofFolder) {
		if err != nil {
			return nil, fmt.Errorf("list the proofs of the archive %s: %w", root, err)
		}
		var n archive.ProofName
		result := ""
		if _, err := fmt.Sscanf(strings.TrimPrefix(object.Key, root+archive.ProofFolder), "%d-%d-%d.%s", &n.Timeline, &n.From, &n.To, &result); err != nil {
			continue
		}
		if n.Failed = result == archive.ProofFailed; n.Key(root) == object.Key {
			found = append(found, n)
		}
	}
	failed, there, err := askFailed(ctx, store, root)
	if there && !slices.Contains(found, failed) {
		found = append(found, failed)
	}
	return found, err
}

// Read reads a proof.
func Read(ctx context.Context, store objstore.Getter, root string, n archive.ProofName) (archive.Proof, error) {
	body, err := store.Get(ctx, n.Key(root))
	if err != nil {
		return archive.Proof{}, err
	}
	defer body.Close()
	p := archive.Proof{}
	if err := bounded.Read(body, &p); err != nil {
		return archive.Proof{}, fmt.Errorf("%w: the proof %s: %w", archive.ErrCorrupt, n.Key(root), err)
	}
	p.ProofName = n
	return p, nil
}

// Write records a result. The first failure of an interval is kept while its snapshot exists. A proof that has passed replaces the
// failures from the same snapshot: they are deleted after it is stored.
func Write(ctx context.Context, store objstore.Store, root string, p archive.Proof, others []archive.ProofName) error {
	p.FormatVersion = archive.FormatVersion
	content, err := json.MarshalIndent(p, "", "  ")
	put := func() error { return store.Put(ctx, p.Key(root), objstore.NewMetadata(append(content, '\n'))) }
	if err == nil {
		err = put()
	}
	if errors.Is(err, fs.ErrExist) && p.Failed {
		if err = dropStale(ctx, store, root, p); err == nil {
			err = put()
		}
	}
	if p.Failed && (err == nil || errors.Is(err, fs.ErrExist)) {
		err = recordFailed(ctx, store, root, append(content, '\n'))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("record the result of a proof of the archive: %w", err)
	}
	replaced := slices.DeleteFunc(slices.Clone(others), func(n archive.ProofName) bool {
		return p.Failed || !n.Failed || n.Timeline != p.Timeline || n.From != p.From
	})
	err = objstore.Each(ctx, replaced, func(n archive.ProofName) error { return store.Delete(ctx, n.Key(root)) }).Err()
	if err != nil {
		return fmt.Errorf("delete an earlier result of a proof of the archive: %w", err)
	}
	return nil
}

// dropStale deletes the failure of an interval whose snapshot is gone. Another snapshot of the same revision has failed, too, and a record
// that names the first one would hold no deletions any more.
func dropStale(ctx context.Context, store objstore.Store, root string, p archive.Proof) error {
	before, err := Read(ctx, store, root, p.ProofName)
	if errors.Is(err, archive.ErrCorrupt) || err == nil && before.FromKey == p.FromKey {
		return fs.ErrExist
	}
	if err != nil {
		return err
	}
	gone, err := objstore.Gone(ctx, store, before.FromKey)
	if err != nil || !gone {
		return cmp.Or(err, fs.ErrExist)
	}
	if err := store.Delete(ctx, p.Key(root)); !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fs.ErrExist // a store that keeps each object
}

// Unreturned returns the segments that the store did not return before, as the newest proof that has passed records them.
func Unreturned(ctx context.Context, store objstore.Getter, root string, proofs []archive.ProofName) []string {
	newest, found := NewestPassed(proofs)
	if !found {
		return nil
	}
	p, err := Read(ctx, store, root, newest)
	if err != nil {
		return nil // the next proof finds them again
	}
	return p.Unreturned[:min(len(p.Unreturned), archive.MaxHoles)]
}

// StillUnread returns those segments, and another one, that the store still does not return.
func StillUnread(ctx context.Context, store objstore.Getter, root string, proofs []archive.ProofName, another string) (keys []string) {
	for _, key := range append(Unreturned(ctx, store, root, proofs), another) {
		if _, ok := archive.ParseKey(root, key); !ok || slices.Contains(keys, key) {
			continue
		}
		if _, err := archive.ReadHeader(ctx, store, root, key); objstore.Unread(ctx, err) {
			keys = append(keys, key)
		}
	}
	return keys
}

// NewestPassed returns the newest proof that has passed.
func NewestPassed(proofs []archive.ProofName) (newest archive.ProofName, found bool) {
	for _, n := range proofs {
		if !n.Failed && (n.Timeline > newest.Timeline || n.Timeline == newest.Timeline && n.To > newest.To) {
			newest, found = n, true
		}
	}
	return newest, found
}

// Proven returns up to which revision passed proofs lead from a revision of a timeline, without a part in between that none of them has.
func Proven(proofs []archive.ProofName, t archive.Timeline, from int64) int64 {
	passed := slices.DeleteFunc(slices.Clone(proofs), func(n archive.ProofName) bool { return n.Failed || n.Timeline != t })
	slices.SortFunc(passed, func(a, b archive.ProofName) int { return int(min(1, max(-1, a.From-b.From))) })
	for _, n := range passed {
		if n.From <= from && n.To > from {
			from = n.To
		}
	}
	return from
}

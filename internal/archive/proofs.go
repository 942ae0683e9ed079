package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/bounded"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Proofs lists the proofs of an archive, oldest first. It always asks for a failed one that the listing omits: an older failed one that is listed may
// hold nothing any more, because its snapshot was deleted.
func Proofs(ctx context.Context, store objstore.Store, root string) ([]ProofName, error) {
	var found []ProofName
	for object, err := range store.List(ctx, root+proofFolder) {
		if err != nil {
			return nil, fmt.Errorf("list the proofs of the archive %s: %w", root, err)
		}
		var n ProofName
		result := ""
		if _, err := fmt.Sscanf(strings.TrimPrefix(object.Key, root+proofFolder), "%d-%d-%d.%s", &n.Timeline, &n.From, &n.To, &result); err != nil {
			continue
		}
		if n.Failed = result == proofFailed; n.Key(root) == object.Key {
			found = append(found, n)
		}
	}
	failed, there, err := askFailed(ctx, store, root)
	if there && !slices.Contains(found, failed) {
		found = append(found, failed)
	}
	return found, err
}

// ReadProof reads a proof.
func ReadProof(ctx context.Context, store objstore.Getter, root string, n ProofName) (Proof, error) {
	body, err := store.Get(ctx, n.Key(root))
	if err != nil {
		return Proof{}, err
	}
	defer body.Close()
	p := Proof{}
	if err := bounded.Read(body, &p); err != nil {
		return Proof{}, fmt.Errorf("%w: the proof %s: %w", ErrCorrupt, n.Key(root), err)
	}
	p.ProofName = n
	return p, nil
}

// WriteProof records a result. The first failure of an interval is kept while its snapshot exists. A proof that has passed replaces the
// failures from the same snapshot: they are deleted after it is stored.
func WriteProof(ctx context.Context, store objstore.Store, root string, p Proof, others []ProofName) error {
	p.FormatVersion = formatVersion
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
	replaced := slices.DeleteFunc(slices.Clone(others), func(n ProofName) bool {
		return p.Failed || !n.Failed || n.Timeline != p.Timeline || n.From != p.From
	})
	err = objstore.Each(ctx, replaced, func(n ProofName) error { return store.Delete(ctx, n.Key(root)) }).Err()
	if err != nil {
		return fmt.Errorf("delete an earlier result of a proof of the archive: %w", err)
	}
	return nil
}

// dropStale deletes the failure of an interval whose snapshot is gone. Another snapshot of the same revision has failed, too, and a record
// that names the first one would hold no deletions any more.
func dropStale(ctx context.Context, store objstore.Store, root string, p Proof) error {
	before, err := ReadProof(ctx, store, root, p.ProofName)
	if errors.Is(err, ErrCorrupt) || err == nil && before.FromKey == p.FromKey {
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
func Unreturned(ctx context.Context, store objstore.Getter, root string, proofs []ProofName) []string {
	newest, found := NewestPassed(proofs)
	if !found {
		return nil
	}
	p, err := ReadProof(ctx, store, root, newest)
	if err != nil {
		return nil // the next proof finds them again
	}
	return p.Unreturned[:min(len(p.Unreturned), maxHoles)]
}

// StillUnread returns those segments, and another one, that the store still does not return.
func StillUnread(ctx context.Context, store objstore.Getter, root string, proofs []ProofName, another string) (keys []string) {
	for _, key := range append(Unreturned(ctx, store, root, proofs), another) {
		if _, ok := parseKey(root, key); !ok || slices.Contains(keys, key) {
			continue
		}
		if _, err := ReadHeader(ctx, store, root, key); objstore.Unread(ctx, err) {
			keys = append(keys, key)
		}
	}
	return keys
}

// NewestPassed returns the newest proof that has passed.
func NewestPassed(proofs []ProofName) (newest ProofName, found bool) {
	for _, n := range proofs {
		if !n.Failed && (n.Timeline > newest.Timeline || n.Timeline == newest.Timeline && n.To > newest.To) {
			newest, found = n, true
		}
	}
	return newest, found
}

// Proven returns up to which revision passed proofs lead from a revision of a timeline, without a part in between that none of them has.
func Proven(proofs []ProofName, t Timeline, from int64) int64 {
	passed := slices.DeleteFunc(slices.Clone(proofs), func(n ProofName) bool { return n.Failed || n.Timeline != t })
	slices.SortFunc(passed, func(a, b ProofName) int { return int(min(1, max(-1, a.From-b.From))) })
	for _, n := range passed {
		if n.From <= from && n.To > from {
			from = n.To
		}
	}
	return from
}

// OutdatedProofs returns the keys of the passed proofs of parts that the archive does not have any more. A failed one is kept while its snapshot exists.
func OutdatedProofs(root string, all []Names, proofs []ProofName) []string {
	var keys []string
	for _, n := range proofs {
		at := slices.IndexFunc(all, func(names Names) bool { return names.Timeline == n.Timeline })
		gone := at < 0 || n.To < all[at].begins()
		if gone && !n.Failed {
			keys = append(keys, n.Key(root))
		}
	}
	return keys
}

// Between returns how many links a replay from one revision to another one needs.
func (n Names) Between(from, to int64) int {
	count := 0
	for i, link := range n.Links {
		ends := int64(0)
		if i+1 < len(n.Links) {
			ends = n.Links[i+1].first
		}
		if link.first <= to && (ends == 0 || ends > from+1) {
			count++
		}
	}
	return count
}

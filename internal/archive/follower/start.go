package follower

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/archive/proofs"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Proofs copies the proofs that have passed and that the second location lacks. The caller has copied all links of the first location from the floor on,
// so the copies have the same bytes. keyOf returns the key of a snapshot in the second location. A proof is copied only if both of its snapshots are there.
//
// A failed proof is not copied: it may concern the objects of the first location only. For the same reason, one that has passed replaces no failure in
// the second location from the same snapshot: that may concern the objects there.
func (c Copying) Proofs(ctx context.Context, floor Floor, from, to []archive.ProofName, keyOf func(string) string) error {
	var errs objstore.Errors
	for _, n := range from {
		before := n.Timeline < floor.Timeline || n.Timeline == floor.Timeline && n.From < floor.Revision
		disproven := slices.ContainsFunc(to, func(t archive.ProofName) bool { return t.Failed && t.Timeline == n.Timeline && t.From == n.From })
		if n.Failed || before || disproven || slices.Contains(to, n) {
			continue
		}
		if !errs.Add(ctx, c.proof(ctx, n, keyOf)) {
			break
		}
	}
	return errs.Err()
}

// proof copies one proof. What it says of segments that the first location does not return is left out.
func (c Copying) proof(ctx context.Context, n archive.ProofName, keyOf func(string) string) error {
	p, err := proofs.Read(ctx, c.From, c.FromRoot, n)
	if err != nil {
		return nil //nolint:nilerr // the first location proves it again
	}
	p.FromKey, p.ToKey, p.Unreturned = keyOf(p.FromKey), keyOf(p.ToKey), nil
	for _, key := range []string{p.FromKey, p.ToKey} {
		gone, err := objstore.Gone(ctx, c.To, key)
		if gone || err != nil {
			return err // not copied yet, or deleted by retention
		}
	}
	return proofs.Write(ctx, c.To, c.ToRoot, p, nil)
}

// Start copies the start of a timeline.
func (c Copying) Start(ctx context.Context, t archive.Timeline) (archive.Start, error) {
	start, err := archive.ReadStart(ctx, c.From, c.FromRoot, t)
	if err != nil {
		return start, fmt.Errorf("%w: %w", ErrSource, err)
	}
	content, err := c.content(ctx, archive.StartKey(c.FromRoot, t))
	if err != nil {
		return start, err
	}
	err = c.To.Put(ctx, archive.StartKey(c.ToRoot, t), objstore.NewMetadata(content))
	if !errors.Is(err, fs.ErrExist) {
		return start, err
	}
	return start, c.sameStart(ctx, start, t)
}

// SameStart returns an error if both locations have a start of this timeline, and the second one that of another archive. Then nothing is to be copied: timelines
// with other numbers are of another archive, too. What the first location does not return is not compared.
func (c Copying) SameStart(ctx context.Context, t archive.Timeline) error {
	start, err := archive.ReadStart(ctx, c.From, c.FromRoot, t)
	if err == nil {
		err = c.sameStart(ctx, start, t)
		if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrOtherCopy) {
			return nil
		}
		return err
	}
	if err = fmt.Errorf("%w: %w", ErrSource, err); Lacks(err) {
		return nil
	}
	return err
}

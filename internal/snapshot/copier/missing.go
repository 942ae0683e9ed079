package copier

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// copyBatch is the maximum number of snapshots that one run copies. The next run continues.
const copyBatch = 100

// missing returns the snapshots to copy, and their manifests. more is how many are left for later runs. Snapshots of
// other EtcdBackups, and those that the second location would delete, are dropped before the batch is cut: otherwise they would hide
// the others in each run.
func (r Request) missing(ctx context.Context, from, to catalog.Index, tried map[string]bool) (missing []catalog.Item, known catalog.Known, more int, err error) {
	candidates := r.keptFirst(to, slices.DeleteFunc(r.candidates(from, to), func(i catalog.Item) bool { return tried[i.Key] }))
	foreign, read := 0, 0
	known = catalog.Known{}
	for len(candidates) > 0 && len(missing) < copyBatch && read < retention.ForeignBatch {
		part := candidates[:min(copyBatch, len(candidates))]
		candidates, read = candidates[len(part):], read+len(part)
		if err := known.Read(ctx, r.From, part, r.Signers); err != nil {
			return nil, nil, 0, fmt.Errorf("%w: %w", ErrSource, err)
		}
		for _, item := range part {
			switch reading := known[item.Key]; {
			case reading.Err != nil: // it is not verified
			case r.Policy.Owner.Compare(item.Key, reading.Manifest) == snapshot.Own:
				missing = append(missing, item)
			default:
				foreign++
			}
		}
		if missing, err = r.wanted(ctx, to, missing, known); err != nil {
			return nil, nil, 0, err
		}
	}
	switch {
	case len(missing) > 0:
		more = max(0, len(missing)-copyBatch) + len(candidates)
		return missing[:min(copyBatch, len(missing))], known, more, nil
	case len(candidates) > 0 && foreign > 0:
		return nil, nil, 0, fmt.Errorf("%w: %d of the newest %d snapshots that are not in the second location belong to other EtcdBackups, and older ones were not read. Give this EtcdBackup a folder of its own",
			ErrSource, foreign, read)
	}
	return nil, known, 0, nil // the second location would keep none of them
}

// unread returns the error of a manifest that the first location did not deliver: that snapshot may have to be copied. Access may be
// refused for good to a single object, for example an archived one. If it is the newest, the copies would be out of date. The same holds for a
// snapshot that is not signed, for example one from before all were signed. A wrong signature is always an error.
func (r Request) unread(from catalog.Index, known catalog.Known) error {
	for i, item := range from.Items {
		reading, read := known[item.Key]
		if read && (i == 0 && snapshot.OfSignature(reading.Err) || errors.Is(reading.Err, snapshot.ErrSignature)) {
			return fmt.Errorf("%w: %w", ErrSource, reading.Err)
		}
		if !read || reading.Missing() || reading.StoreError() == nil {
			continue
		}
		if i == 0 || !errors.Is(reading.Err, fs.ErrPermission) {
			return fmt.Errorf("%w: %w", ErrSource, reading.Err)
		}
	}
	return nil
}

// candidates returns the snapshots that are not in the second location, newest first.
func (r Request) candidates(from, to catalog.Index) (candidates []catalog.Item) {
	for _, item := range from.Items {
		if !to.HasManifest(r.keyOf(item.Key)) && r.proven(item) {
			candidates = append(candidates, item)
		}
	}
	return candidates
}

// proven reports whether the snapshot counts as good in the first location.
func (r Request) proven(i catalog.Item) bool {
	return i.Series == r.FromSeries && !i.Future(r.Policy.Now) && i.Verdict != snapshot.Failed && (!r.Policy.Verify || i.Verdict == snapshot.Passed)
}

// wanted returns the snapshots that the second location would keep. Others would be copied and deleted in each run.
func (r Request) wanted(ctx context.Context, to catalog.Index, missing []catalog.Item, manifests catalog.Known) ([]catalog.Item, error) {
	union, known := to, catalog.Known{}
	union.Items = slices.Clone(to.Items)
	for _, item := range missing {
		key := r.keyOf(item.Key)
		union.Add(key, manifests[item.Key].Manifest)
		union.SetVerdict(key, item.Verdict)
		known[key] = manifests[item.Key]
	}
	d, err := retention.Retain(ctx, r.To, r.ToSeries, union, known, r.Policy)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(missing, func(i catalog.Item) bool { return slices.Contains(d.Delete, r.keyOf(i.Key)) }), nil
}

// keptFirst puts those snapshots first that the rules of the second location keep as far as names tell. The others are read only up to foreignBatch,
// because one of them is kept only if a manifest cannot be used. They would hide older ones in each run.
func (r Request) keptFirst(to catalog.Index, candidates []catalog.Item) []catalog.Item {
	if r.Policy.KeepsAll() {
		return candidates
	}
	union := catalog.Index{Items: slices.Clone(to.Items)}
	for _, item := range candidates {
		item.Key, item.Series = r.keyOf(item.Key), r.ToSeries
		union.Items = append(union.Items, item)
	}
	kept := r.Policy.KeptByNames(r.ToSeries, union)
	wanted := slices.DeleteFunc(slices.Clone(candidates), func(i catalog.Item) bool { return !kept[r.keyOf(i.Key)] })
	return append(wanted, slices.DeleteFunc(candidates, func(i catalog.Item) bool { return kept[r.keyOf(i.Key)] })...)
}

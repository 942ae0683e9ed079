package copier

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/catalog"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/retention"
)

// Copy copies each verified snapshot that is missing, newest first: the object byte for byte, then its manifest, then the
// result of its restore test. It never replaces an object. If it is interrupted, the next run continues. An object that cannot be copied
// does not stop the copies of the others: its error comes at the end, together with what was copied.
func Copy(ctx context.Context, r Request) (Copied, error) {
	from, err := catalog.Scan(ctx, r.From, r.FromSeries.Prefix())
	if err != nil {
		return Copied{}, fmt.Errorf("%w: %w", ErrSource, err)
	}
	to, err := catalog.Scan(ctx, r.To, r.ToSeries.Prefix())
	if err != nil {
		return Copied{}, err
	}
	out := Copied{Index: to, Known: catalog.Known{}}
	if len(to.Items) > 0 {
		out.Before = to.Items[0].Time
	}
	r.dropDrafts(ctx, to)
	var errs objstore.Errors
	var unread error
	tried := map[string]bool{}
	for again := true; again; {
		missing, manifests, more, err := r.missing(ctx, from, to, tried)
		if err != nil {
			return out, err
		}
		unread = cmp.Or(unread, r.unread(from, manifests))
		if out.Missing, again = more, r.copyEach(ctx, missing, manifests, &out, &errs, tried); errs.Ended() != nil {
			return out, errs.Err()
		}
	}
	r.copyVerdicts(ctx, from, out, &errs)
	out.Tried = errs.Ended() == nil
	return out, cmp.Or(errs.Err(), unread)
}

// copyEach copies snapshots, and adds them to tried. It returns whether others take the places of those that could not be copied.
func (r Request) copyEach(ctx context.Context, missing []catalog.Item, manifests catalog.Known, out *Copied, errs *objstore.Errors, tried map[string]bool) (again bool) {
	for _, item := range missing {
		key, m := r.keyOf(item.Key), manifests[item.Key].Manifest
		err := r.copyOne(ctx, item.Key, m)
		if err != nil {
			err = fmt.Errorf("copy snapshot %s: %w", item.Key, err)
		}
		tried[item.Key] = true
		switch more := errs.Add(ctx, err); {
		case !more:
			return false
		case err != nil:
			again = len(tried) < retention.ForeignBatch
			continue
		}
		out.Index.Add(key, m)
		out.Known[key] = catalog.Reading{Manifest: m}
		out.Last = key
	}
	return again
}

// copyVerdicts copies the results of restore tests that are missing. A result counts for the copy only if the test read the bytes that the
// manifest of the copy describes: otherwise only the object in the first location is damaged, or it was replaced.
func (r Request) copyVerdicts(ctx context.Context, from catalog.Index, out Copied, errs *objstore.Errors) {
	tested := map[string]catalog.Item{}
	for _, item := range from.Items {
		if item.Verdict != "" {
			tested[r.keyOf(item.Key)] = item
		}
	}
	for _, item := range slices.Clone(out.Index.Items) {
		source, ok := tested[item.Key]
		if !ok || source.Verdict == item.Verdict {
			continue
		}
		judged, err := r.copyVerdict(ctx, source, item, out.Known)
		if judged {
			out.Index.Judge(item.Key, source.Verdict)
		}
		if !errs.Add(ctx, err) {
			return
		}
	}
}

// copyVerdict copies one result, if it is that of the owner's snapshot. It returns whether it did.
func (r Request) copyVerdict(ctx context.Context, source, item catalog.Item, known catalog.Known) (bool, error) {
	v, err := snapshot.ReadVerdict(ctx, r.From, source.Key, source.Verdict)
	if err != nil {
		v = snapshot.Verdict{Result: source.Verdict, Time: source.Stored}
	}
	if err := known.Read(ctx, r.To, []catalog.Item{item}, snapshot.Anyone); err != nil {
		return false, err
	}
	m := known[item.Key]
	if m.Err != nil && source.Verdict == snapshot.Failed || m.Err == nil && r.Policy.Owner.Compare(item.Key, m.Manifest) != snapshot.Own {
		return false, nil
	}
	if another := v.SHA256 != m.Manifest.SHA256; another && (source.Verdict == snapshot.Failed || m.Err == nil && v.SHA256 != "") {
		return false, nil
	}
	err = snapshot.WriteVerdict(ctx, r.To, item.Key, v)
	return err == nil, err
}

package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// copyBatch is the maximum number of snapshots that one run copies. The next run continues.
const copyBatch = 100

// ErrCopySource means that the first location failed during a copy, and not the second one.
var ErrCopySource = errors.New("read the first location")

// Copied is the second location after a copy.
type Copied struct {
	// Index and Known are its content, with what was copied.
	Index Index
	Known Known
	// Before is when the newest snapshot was taken that was there before; zero if there was none.
	Before time.Time
	// Last is the key of the snapshot that was copied last. It is empty if there was none to copy.
	Last string
	// Missing is how many snapshots are still to be copied.
	Missing int
	// Tried means that the second location was listed, and that neither store has ended the copies. It may be true although the copies
	// of some objects failed.
	Tried bool
}

// Copy copies each verified snapshot that is missing, newest first: the object byte for byte, then its manifest, then the
// result of its restore test. It never replaces an object. If it is interrupted, the next run continues. An object that cannot be copied
// does not stop the copies of the others: its error comes at the end, together with what was copied.
func Copy(ctx context.Context, r CopyRequest) (Copied, error) {
	from, err := Scan(ctx, r.From, r.FromSeries.Prefix())
	if err != nil {
		return Copied{}, fmt.Errorf("%w: %w", ErrCopySource, err)
	}
	to, err := Scan(ctx, r.To, r.ToSeries.Prefix())
	if err != nil {
		return Copied{}, err
	}
	out := Copied{Index: to, Known: Known{}}
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
func (r CopyRequest) copyEach(ctx context.Context, missing []Item, manifests Known, out *Copied, errs *objstore.Errors, tried map[string]bool) (again bool) {
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
			again = len(tried) < foreignBatch
			continue
		}
		out.Index.Add(key, m)
		out.Known[key] = Reading{Manifest: m}
		out.Last = key
	}
	return again
}

// missing returns the snapshots to copy, and their manifests. more is how many are left for later runs. Snapshots of
// other EtcdBackups, and those that the second location would delete, are dropped before the batch is cut: otherwise they would hide
// the others in each run.
func (r CopyRequest) missing(ctx context.Context, from, to Index, tried map[string]bool) (missing []Item, known Known, more int, err error) {
	candidates := r.keptFirst(to, slices.DeleteFunc(r.candidates(from, to), func(i Item) bool { return tried[i.Key] }))
	foreign, read := 0, 0
	known = Known{}
	for len(candidates) > 0 && len(missing) < copyBatch && read < foreignBatch {
		part := candidates[:min(copyBatch, len(candidates))]
		candidates, read = candidates[len(part):], read+len(part)
		if err := known.Read(ctx, r.From, part, r.Signers); err != nil {
			return nil, nil, 0, fmt.Errorf("%w: %w", ErrCopySource, err)
		}
		for _, item := range part {
			switch reading := known[item.Key]; {
			case reading.Err != nil: // it is not verified
			case r.Policy.Owner.Compare(item.Key, reading.Manifest) == Own:
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
			ErrCopySource, foreign, read)
	}
	return nil, known, 0, nil // the second location would keep none of them
}

// unread returns the error of a manifest that the first location did not deliver: that snapshot may have to be copied. Access may be
// refused for good to a single object, for example an archived one. If it is the newest, the copies would be out of date. The same holds for a
// snapshot that is not signed, for example one from before all were signed. A wrong signature is always an error.
func (r CopyRequest) unread(from Index, known Known) error {
	for i, item := range from.Items {
		reading, read := known[item.Key]
		if read && (i == 0 && OfSignature(reading.Err) || errors.Is(reading.Err, ErrSignature)) {
			return fmt.Errorf("%w: %w", ErrCopySource, reading.Err)
		}
		if !read || reading.missing() || reading.storeError() == nil {
			continue
		}
		if i == 0 || !errors.Is(reading.Err, fs.ErrPermission) {
			return fmt.Errorf("%w: %w", ErrCopySource, reading.Err)
		}
	}
	return nil
}

// candidates returns the snapshots that are not in the second location, newest first.
func (r CopyRequest) candidates(from, to Index) (candidates []Item) {
	for _, item := range from.Items {
		if !to.hasManifest(r.keyOf(item.Key)) && r.proven(item) {
			candidates = append(candidates, item)
		}
	}
	return candidates
}

// proven reports whether the snapshot counts as good in the first location.
func (r CopyRequest) proven(i Item) bool {
	return i.Series == r.FromSeries && !i.Future(r.Policy.Now) && i.Verdict != Failed && (!r.Policy.Verify || i.Verdict == Passed)
}

// wanted returns the snapshots that the second location would keep. Others would be copied and deleted in each run.
func (r CopyRequest) wanted(ctx context.Context, to Index, missing []Item, manifests Known) ([]Item, error) {
	union, known := to, Known{}
	union.Items = slices.Clone(to.Items)
	for _, item := range missing {
		key := r.keyOf(item.Key)
		union.Add(key, manifests[item.Key].Manifest)
		union.setVerdict(key, item.Verdict)
		known[key] = manifests[item.Key]
	}
	d, err := Retain(ctx, r.To, r.ToSeries, union, known, r.Policy)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(missing, func(i Item) bool { return slices.Contains(d.Delete, r.keyOf(i.Key)) }), nil
}

// setVerdict sets the verdict of an item, and not that of the store's objects.
func (x *Index) setVerdict(key string, result Result) {
	for i := range x.Items {
		if x.Items[i].Key == key {
			x.Items[i].Verdict = result
		}
	}
}

// copyOne copies an object and then its manifest.
func (r CopyRequest) copyOne(ctx context.Context, source string, m Manifest) error {
	key := r.keyOf(source)
	body, err := r.From.Get(ctx, source)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCopySource, err)
	}
	defer body.Close()
	checked := &checkedBody{body: body, sum: sha256.New(), manifest: m}
	if r.Progress != nil {
		checked.progress = r.Progress(source, m.Size)
	}
	draft, err := r.draft(ctx, key, m)
	if err != nil {
		return err
	}
	err = r.To.Put(ctx, key, checked)
	switch {
	case checked.err != nil:
		err = fmt.Errorf("%w: %w", ErrCopySource, checked.err) // the store's error only repeats it
	case errors.Is(err, fs.ErrExist):
		err = r.compare(ctx, key, m)
	}
	if draft != "" && (checked.err != nil || errors.Is(err, fs.ErrExist)) {
		_ = r.To.Delete(ctx, draft) // there is no object of ours
	}
	if err != nil {
		return err
	}
	request := Request{Store: r.To, Key: key, Signers: r.Signers}
	object, err := request.stat(ctx)
	if err == nil && object.Size != m.Size {
		err = fmt.Errorf("the second location has %d bytes of %d: delete the object", object.Size, m.Size)
	}
	if err != nil {
		return err
	}
	if _, err = request.commit(ctx, Saved{Manifest: m}); err == nil && draft != "" {
		_ = r.To.Delete(ctx, draft) // otherwise a later run deletes it as a leftover
	}
	return err
}

// compare reads an object that exists without a manifest. An earlier run has written it, and was interrupted.
func (r CopyRequest) compare(ctx context.Context, key string, m Manifest) error {
	err := matches(ctx, r.To, key, m)
	if errors.Is(err, dbfile.ErrCorrupt) {
		return fmt.Errorf("%w: another object is under the key %s in the second location: delete it", fs.ErrExist, key)
	}
	return err
}

// copyVerdicts copies the results of restore tests that are missing. A result counts for the copy only if the test read the bytes that the
// manifest of the copy describes: otherwise only the object in the first location is damaged, or it was replaced.
func (r CopyRequest) copyVerdicts(ctx context.Context, from Index, out Copied, errs *objstore.Errors) {
	tested := map[string]Item{}
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
func (r CopyRequest) copyVerdict(ctx context.Context, source, item Item, known Known) (bool, error) {
	v, err := ReadVerdict(ctx, r.From, source.Key, source.Verdict)
	if err != nil {
		v = Verdict{Result: source.Verdict, Time: source.Stored}
	}
	if err := known.Read(ctx, r.To, []Item{item}, Anyone); err != nil {
		return false, err
	}
	m := known[item.Key]
	if m.Err != nil && source.Verdict == Failed || m.Err == nil && r.Policy.Owner.Compare(item.Key, m.Manifest) != Own {
		return false, nil
	}
	if another := v.SHA256 != m.Manifest.SHA256; another && (source.Verdict == Failed || m.Err == nil && v.SHA256 != "") {
		return false, nil
	}
	err = WriteVerdict(ctx, r.To, item.Key, v)
	return err == nil, err
}

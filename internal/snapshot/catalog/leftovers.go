package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
)

// Drafted is an object without a manifest, and its draft.
type Drafted struct {
	Key, Draft string
	Size       int64
}

// Leftovers are objects in the folder of a series without a manifest, of any incarnation of the cluster. Only a draft tells
// whose an object is. Without one, it may be a snapshot whose manifest another party has deleted.
type Leftovers struct {
	// Delete are the names of drafts and verdicts that describe nothing.
	Delete []string
	// Unfinished are objects that this EtcdBackup has written. They are complete snapshots, because a draft is written after the snapshot is
	// verified, and an object exists only if it is complete.
	Unfinished []Drafted
	// Keep are the keys of objects that this EtcdBackup has not written, as far as the store tells.
	Keep []string
}

// DeleteAll adds the unfinished snapshots to what is deleted.
func (l *Leftovers) DeleteAll() {
	for _, u := range l.Unfinished {
		l.Delete = append(l.Delete, u.Key, u.Draft)
	}
	l.Unfinished = nil
}

// FindLeftovers finds what killed processes left before a time by the clock of the store. That time must be long enough ago
// for an upload in progress to end. mark is the prefix of the Attempt of all snapshots of the EtcdBackup. An object with a
// verdict was a complete snapshot once, and is no leftover. An object that cannot be judged is in neither list, and its error comes with
// the lists of the others. What the listing lacks is only missing if the store says so when it is asked for that object.
func FindLeftovers(ctx context.Context, store objstore.Store, series snapshot.Series, mark string, before time.Time) (Leftovers, error) {
	f := &folder{store: store, mark: mark + "/", before: before, objects: map[string]objstore.Object{}, drafts: map[string][]string{}, tested: map[string]bool{}}
	for object, err := range store.List(ctx, series.Lives()) {
		if err != nil {
			return Leftovers{}, fmt.Errorf("list the objects to find leftovers: %w", err)
		}
		f.add(series, object)
	}
	var out Leftovers
	errs := objstore.Each(ctx, f.names, func(name string) error { return f.judge(ctx, name, &out) })
	return out, errs.Err()
}

// folder has the names in the folder of a series.
type folder struct {
	store   objstore.Store
	mark    string
	before  time.Time
	objects map[string]objstore.Object
	// names are those that may be leftovers, in the order of the store.
	names []string
	// drafts are the names of the drafts of each key. tested has the keys with a verdict.
	drafts map[string][]string
	tested map[string]bool
}

func (f *folder) add(series snapshot.Series, object objstore.Object) {
	f.objects[object.Key] = object
	of := object.Key
	if key, ok := snapshot.DraftedKey(of); ok {
		of = key
		f.drafts[key] = append(f.drafts[key], object.Key)
	} else if key, ok := snapshot.TestedKey(of); ok {
		of, f.tested[key] = key, true
	}
	key, ours := snapshot.ParseKey(of)
	key.ClusterID = series.ClusterID
	if ours && key.Series == series {
		f.names = append(f.names, object.Key)
	}
}

// exists reports whether the folder has that name.
func (f *folder) exists(name string) bool {
	_, found := f.objects[name]
	return found
}

func (f *folder) old(name string) bool { return f.objects[name].ModTime.Before(f.before) }

func (f *folder) judge(ctx context.Context, name string, out *Leftovers) error {
	switch key, draft := snapshot.DraftedKey(name); {
	case !f.old(name):
	case draft && f.exists(snapshot.ManifestKey(key)):
		out.Delete = append(out.Delete, name)
	case draft && f.exists(key): // deleted after its object
	case draft:
		own, err := f.own(ctx, name)
		if err != nil || !own {
			return err
		}
		return f.deleteWithout(ctx, out, []string{name}, key)
	case snapshot.IsVerdict(name):
		if key, _ := snapshot.TestedKey(name); !f.exists(key) && !f.exists(snapshot.ManifestKey(key)) {
			return f.deleteWithout(ctx, out, []string{name}, key, snapshot.ManifestKey(key))
		}
	case f.exists(snapshot.ManifestKey(name)) || f.tested[name]:
	default:
		return f.judgeObject(ctx, name, out)
	}
	return nil
}

// judgeObject decides about an object without a manifest. The draft is written at the end of an upload, and some stores report
// the start of an upload as the time of its object.
func (f *folder) judgeObject(ctx context.Context, name string, out *Leftovers) error {
	for _, draft := range f.drafts[name] {
		own, err := f.own(ctx, draft)
		if err != nil {
			return err
		}
		if own && f.old(draft) {
			gone, err := objstore.Gone(ctx, f.store, snapshot.ManifestKey(name))
			if gone {
				out.Unfinished = append(out.Unfinished, Drafted{name, draft, f.objects[name].Size})
			}
			return err
		}
		if own {
			return nil
		}
	}
	out.Keep = append(out.Keep, name)
	return nil
}

// deleteWithout adds names to what is deleted, if the store says that none of the missing objects exists.
func (f *folder) deleteWithout(ctx context.Context, out *Leftovers, names []string, missing ...string) error {
	for _, key := range missing {
		if gone, err := objstore.Gone(ctx, f.store, key); err != nil || !gone {
			return err
		}
	}
	out.Delete = append(out.Delete, names...)
	return nil
}

// own reports whether the EtcdBackup has written the draft.
func (f *folder) own(ctx context.Context, draft string) (bool, error) {
	m, err := snapshot.ReadManifestAt(ctx, f.store, "", draft, snapshot.Anyone)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, snapshot.ErrManifest), errors.Is(err, snapshot.ErrNewerFormat):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find leftovers: %w", err)
	}
	return strings.HasPrefix(m.Attempt, f.mark), nil
}

// AbortUploads deletes the parts of stale unfinished uploads under a prefix and returns how many it has aborted. It does
// nothing for stores that delete such parts on their own, and for uploads that were completed meanwhile.
func AbortUploads(ctx context.Context, store objstore.Store, prefix string, stale func(key string, started time.Time) bool) (aborted int, err error) {
	unfinished, ok := store.(objstore.Unfinished)
	if !ok {
		return 0, nil
	}
	var errs objstore.Errors
	uploads := objstore.Matching(unfinished.Uploads(objstore.Unheld(ctx), prefix), func(u objstore.Upload) bool { return stale(u.Key, u.Started) })
	listed := objstore.EachListed(ctx, 1, uploads, &errs, func(upload objstore.Upload) error {
		if err := unfinished.Abort(ctx, upload); err != nil {
			return fmt.Errorf("abort an unfinished upload: %w", err)
		}
		aborted++
		return nil
	})
	if err := errs.Err(); err != nil {
		return aborted, err
	}
	if listed != nil {
		return aborted, fmt.Errorf("list unfinished uploads: %w", listed)
	}
	return aborted, nil
}

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// committed looks for the manifest. One of this very attempt is success, reported
// again; any other is fs.ErrExist.
func (r Request) committed(ctx context.Context) (Manifest, bool, error) {
	m, err := readManifest(ctx, r.Store, r.Key)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		// Without the right to list, S3 calls an absent key forbidden. If it is
		// more than that, Put will say so.
		return Manifest{}, false, nil
	case errors.Is(err, ErrManifest), errors.Is(err, ErrNewerFormat):
		return Manifest{}, false, r.taken("something else is where its manifest would go: " + err.Error())
	case err != nil:
		return Manifest{}, false, err
	case r.Attempt == "" || m.Attempt != r.Attempt:
		return Manifest{}, false, r.taken("a snapshot of " + m.CreatedAt.Format(time.RFC3339) + " is there")
	}
	exists, err := r.exists(ctx)
	if err == nil && !exists {
		// Somebody removed the object and left the manifest: the snapshot is gone,
		// and writing another under this manifest would be a lie.
		err = r.taken("its manifest is there and the object is not")
	}
	return m, err == nil, err
}

// exists says whether there is an object of the request's key. Opening it is the
// one way that needs no right to list.
func (r Request) exists(ctx context.Context) (bool, error) {
	body, err := r.Store.Get(ctx, r.Key)
	switch {
	case err == nil:
		_ = body.Close()
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return false, nil
	}
	return false, err
}

// adopt decides about an object that exists without a manifest. It is what an
// earlier try of the same attempt left, killed between object and manifest, when
// all of this holds: it is a whole snapshot; it was written since the attempt was
// first made; and it is of this cluster, since it lists one of its members. Then
// its manifest is written and the snapshot is saved. Anything else is somebody's,
// and is neither replaced nor given a manifest.
//
// sha256 is that of the snapshot just streamed, if one was: an object of the same
// bytes is that one, because no two snapshots are alike.
func (r Request) adopt(ctx context.Context, sha256 string) (Saved, error) {
	object, err := r.stat(ctx)
	if err != nil {
		return Saved{}, err
	}
	f, err := r.readBack(ctx)
	if errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, dbfile.ErrNoTrailer) {
		return Saved{}, r.taken("it is no snapshot: " + err.Error())
	}
	if err != nil {
		return Saved{}, err
	}
	saved := Saved{Manifest: r.manifest(f, object.ModTime), Found: true}
	if sha256 != "" && f.SHA256 == sha256 {
		saved.Manifest = r.manifest(f, r.Time)
		saved.Manifest.EtcdVersion, saved.Found = r.EtcdVersion, false
		return r.commit(ctx, saved)
	}
	if why := r.foreign(object, f); why != "" {
		return Saved{}, r.taken(why)
	}
	return r.commit(ctx, saved)
}

// foreign says why the object is not of an earlier try; empty means that it is.
func (r Request) foreign(object objstore.Object, f facts) string {
	switch {
	case r.Attempt == "" || r.Since.IsZero():
		return "it has no manifest"
	// Stores give whole seconds.
	case object.ModTime.Before(r.Since.Truncate(time.Second)):
		return "it has no manifest and is of " + object.ModTime.UTC().Format(time.RFC3339) + ", before this backup was asked for"
	case !slices.ContainsFunc(r.MemberIDs, func(id uint64) bool { return slices.Contains(f.MemberIDs, id) }):
		return "it has no manifest and is a snapshot of another cluster"
	}
	return ""
}

// taken is the refusal to touch what is there.
func (r Request) taken(why string) error {
	return fmt.Errorf("%w: %s: remove it yourself, or choose another path", fs.ErrExist, why)
}

// stat finds what List knows of the object.
func (r Request) stat(ctx context.Context) (objstore.Object, error) {
	for object, err := range r.Store.List(ctx, r.Key) {
		if err != nil {
			return objstore.Object{}, err
		}
		if object.Key == r.Key {
			return object, nil
		}
		break // the key itself would be the first of all that begin with it
	}
	return objstore.Object{}, errors.New("the object was there and is not any more")
}

// readBack proves what is in the store.
func (r Request) readBack(ctx context.Context) (facts, error) {
	spool, err := newSpool(r.SpoolDir)
	if err != nil {
		return facts{}, err
	}
	defer spool.Close()
	body, err := r.Store.Get(ctx, r.Key)
	if err != nil {
		return facts{}, err
	}
	defer body.Close()
	p := newProof(storeBody{body}, spool)
	if _, err := io.Copy(io.Discard, p); err != nil {
		return facts{}, storeError(err)
	}
	return p.facts, nil
}

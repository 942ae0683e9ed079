package snapshot

import (
	"context"
	"errors"
	"fmt"
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
// its manifest is written and the snapshot is saved. Of an object that is encrypted
// the earlier try's draft says so. Anything else is somebody's, and is neither replaced
// nor given a manifest.
//
// sent is what was just uploaded, if anything was: an object of the same bytes is
// that one, because no two snapshots are alike.
func (r Request) adopt(ctx context.Context, sent facts) (Saved, error) {
	object, err := r.stat(ctx)
	if err != nil {
		return Saved{}, err
	}
	f, err := r.readBack(ctx)
	if sent.SHA256 != "" && f.object.SHA256 == sent.object.SHA256 {
		// These are its bytes, whether they can be decrypted here or not.
		return r.commit(ctx, Saved{Manifest: r.manifestOfSent(sent)})
	}
	switch {
	case errors.Is(err, ErrIdentity):
		return r.adoptUnread(ctx, f.object)
	case errors.Is(err, dbfile.ErrCorrupt), errors.Is(err, dbfile.ErrNoTrailer):
		return Saved{}, r.taken("it is no snapshot: " + err.Error())
	case err != nil:
		return Saved{}, err
	}
	if why := r.foreign(object, f); why != "" {
		return Saved{}, r.taken(why)
	}
	return r.commit(ctx, Saved{Manifest: r.manifest(f, object.ModTime), Found: true})
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

// readBack proves what is in the store. Of an object that is encrypted it returns the
// facts of the object alone, with ErrIdentity.
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
	return download(body, spool, reading{unread: true})
}

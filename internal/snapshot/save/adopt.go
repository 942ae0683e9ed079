package save

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// committed looks for the manifest. If it is from the same attempt, the snapshot is saved already. Any other manifest is
// fs.ErrExist.
func (r Request) committed(ctx context.Context) (snapshot.Manifest, bool, error) {
	m, err := snapshot.ReadManifest(ctx, r.Store, r.Key, r.Signers)
	switch {
	case errors.Is(err, fs.ErrPermission):
		// Without the permission to list, S3 answers 403 for a missing key. If the permission to read is missing too,
		// Put fails later.
		if listed, failed := r.listed(ctx, snapshot.ManifestKey(r.Key)); failed != nil || !listed {
			return snapshot.Manifest{}, false, failed
		}
		return snapshot.Manifest{}, false, err
	case errors.Is(err, fs.ErrNotExist):
		return snapshot.Manifest{}, false, nil
	case snapshot.OfSignature(err):
		return snapshot.Manifest{}, false, taken(err.Error())
	case errors.Is(err, snapshot.ErrManifest), errors.Is(err, snapshot.ErrNewerFormat):
		return snapshot.Manifest{}, false, taken("there is an unreadable object in place of its manifest: " + err.Error())
	case err != nil:
		return snapshot.Manifest{}, false, err
	case r.Attempt == "" || m.Attempt != r.Attempt:
		return snapshot.Manifest{}, false, taken("a snapshot of " + m.CreatedAt.Format(time.RFC3339) + " has this key")
	}
	exists, err := r.exists(ctx)
	if err == nil && !exists {
		// Another party deleted the object but not its manifest, and this manifest would not describe a new object.
		err = taken("its manifest exists, but the object does not")
	}
	return m, err == nil, err
}

// exists reports whether the store has an object under the request's key. It opens the object, because that needs no
// permission to list.
func (r Request) exists(ctx context.Context) (bool, error) {
	body, err := r.Store.Get(ctx, r.Key)
	switch {
	case err == nil:
		_ = body.Close()
		return true, nil
	case errors.Is(err, fs.ErrPermission):
		return r.listed(ctx, r.Key)
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, err
}

// listed reports whether the store lists a key that it refuses to return. Such a refusal does not prove that the object is missing: it may
// be in an archive. Without the permission to list, the create-only condition of Put decides.
func (r Request) listed(ctx context.Context, key string) (bool, error) {
	for object, err := range r.Store.List(ctx, key) {
		if errors.Is(err, fs.ErrPermission) {
			return false, nil
		}
		return err == nil && object.Key == key, err
	}
	return false, nil
}

// adopt decides about an object that exists without a manifest. An earlier try of the same attempt has written it, and
// was killed before it wrote the manifest, if all of this holds:
//   - it is a complete snapshot,
//   - it was written after the first try began,
//   - it lists a member of this cluster.
//
// adopt then writes the manifest. A draft of the earlier try takes the place of these checks, and has the whole manifest.
// Any other object is foreign: adopt neither replaces it nor writes a manifest. If the snapshot is to be signed, only a signed draft counts,
// because anyone who can write to the bucket can store a snapshot that lists a member.
//
// sent is what this try has uploaded, if anything. An object with the same bytes is that upload, or that of another
// EtcdBackup in the same second. The one that writes its manifest first owns it.
func (r Request) adopt(ctx context.Context, sent proof.Facts) (Saved, error) {
	object, err := r.Stat(ctx)
	if err != nil {
		return Saved{}, err
	}
	f, err := r.readBack(ctx, object.Size)
	if sent.SHA256 != "" && f.Object.SHA256 == sent.Object.SHA256 {
		// This try has written the object, even if it cannot decrypt it.
		return r.Commit(ctx, Saved{Manifest: r.manifestOfSent(sent)})
	}
	switch {
	case errors.Is(err, codec.ErrIdentity):
		return r.adoptUnread(ctx, f.Object)
	case errors.Is(err, spool.ErrTooSmall) && (r.Attempt == "" || object.ModTime.Before(r.Since.Truncate(time.Second))):
		return Saved{}, taken(fmt.Sprintf("it has no manifest and %d bytes, and the operator cannot check it: %v", object.Size, err))
	case errors.Is(err, spool.ErrTooSmall):
		return Saved{}, fmt.Errorf("check the object of %d bytes at the path of the snapshot, which has no manifest: %w", object.Size, err)
	case errors.Is(err, dbfile.ErrCorrupt), errors.Is(err, dbfile.ErrNoTrailer):
		return Saved{}, taken("it is not a snapshot: " + err.Error())
	case err != nil:
		return Saved{}, err
	}
	if m, found, err := r.drafted(ctx, f.Object); err != nil || found {
		return r.commitFound(ctx, m, err)
	}
	if why := r.foreign(object, f); why != "" {
		return Saved{}, taken(why)
	}
	return r.Commit(ctx, Saved{Manifest: r.manifest(f, object.ModTime), Found: true})
}

// foreign returns why the object is not from an earlier try. It returns an empty string if it is.
func (r Request) foreign(object objstore.Object, f proof.Facts) string {
	switch {
	case r.Attempt == "" || r.Since.IsZero():
		return "it has no manifest"
	case r.Signers.Required():
		return "it has no manifest and no signed draft"
	// Stores report whole seconds.
	case object.ModTime.Before(r.Since.Truncate(time.Second)):
		return "it has no manifest and was written at " + object.ModTime.UTC().Format(time.RFC3339) + ", before this backup was requested"
	case !f.Lists(r.MemberIDs):
		return "it has no manifest and is a snapshot of another cluster"
	}
	return ""
}

// Stat returns the object as List reports it.
func (r Request) Stat(ctx context.Context) (objstore.Object, error) {
	for object, err := range r.Store.List(ctx, r.Key) {
		if err != nil {
			return objstore.Object{}, err
		}
		if object.Key == r.Key {
			return object, nil
		}
		break // the key itself sorts before all keys that begin with it
	}
	return objstore.Object{}, errors.New("the object was deleted while it was checked")
}

// readBack downloads and verifies the object. If it is encrypted, readBack returns codec.ErrIdentity and only the facts of the
// object itself. The store lists the object with that size.
func (r Request) readBack(ctx context.Context, size int64) (proof.Facts, error) {
	share, err := proof.Reserve(ctx, r.Spool, r.Expected)
	if err != nil {
		return proof.Facts{}, err
	}
	defer share.Release()
	file, err := proof.NewSpool(r.SpoolDir)
	if err != nil {
		return proof.Facts{}, err
	}
	defer proof.Discard(file)
	body, err := r.Store.Get(ctx, r.Key)
	if err != nil {
		return proof.Facts{}, err
	}
	defer body.Close()
	return proof.Download(ctx, body, file, proof.Reading{Namespace: r.Namespace, Unread: true, Listed: size, Room: share})
}

// Package snapshot is the suite's format of backups: where a snapshot lies, the
// manifest beside it, and how one is saved, fetched, listed and retired. It knows
// object stores and snapshot files, and nothing of Kubernetes.
//
// A snapshot is two objects: the bytes that etcd sent, which plain etcdutl
// restores, or these compressed by zstd or encrypted by age; and a manifest in JSON under the same key with ".json" appended. The
// manifest is written last and removed last, and only both together are a
// snapshot: whatever was killed in between left nothing that is listed as one.
package snapshot

import (
	"errors"
	"fmt"
)

var (
	// ErrSource says that the stream from etcd failed; the store is not to blame.
	ErrSource = errors.New("snapshot stream of etcd failed")
	// ErrDisk says that the disk here failed or is full. Nothing else of such an
	// error can be asked for by errors.Is, since a missing file here would pass
	// for a missing object there.
	ErrDisk = errors.New("local disk")
	// ErrStale says that the member that was asked is behind its cluster.
	ErrStale = errors.New("snapshot is older than the cluster was when it was asked for")
	// ErrIdentity says that the object is encrypted and no identity at hand decrypts it.
	ErrIdentity = errors.New("no age identity decrypts the object")
	// ErrChanged says that the object is a snapshot and not the one that was proven.
	ErrChanged = errors.New("not the snapshot that was proven")
	// ErrManifest says that an object is no manifest of this format.
	ErrManifest = errors.New("not a manifest")
	// ErrNewerFormat says that a newer version of the suite wrote the manifest.
	ErrNewerFormat = errors.New("manifest has a newer format")
)

func diskError(err error) error { return fmt.Errorf("%w: %s", ErrDisk, err.Error()) }

// Package snapshot implements the suite's backup format: the keys of snapshots, their manifests with their signatures, and the verdicts of restore
// tests. The packages below it save, prove, list, retain and copy snapshots. They use object stores and snapshot files, but not Kubernetes.
//
// A snapshot consists of two objects. The first holds the bytes that etcd sent, optionally compressed with zstd and
// encrypted with age; etcdutl can restore a plain one. The second is the manifest, a JSON object under the same key with
// ".json" appended. The manifest is written last and deleted last. An object without a manifest is not listed as a
// snapshot, so a process may be killed at any point. A restore test adds a third object, the verdict.
package snapshot

import (
	"errors"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

var (
	// ErrSource means that the stream from etcd failed. The store works.
	ErrSource = errors.New("the snapshot stream from etcd failed")
	// ErrDisk means that the local disk failed or is full. It hides its cause from errors.Is, because a missing local
	// file (fs.ErrNotExist) must not be taken for a missing object.
	ErrDisk = errors.New("local disk")
	// ErrStale means that the member is behind its cluster.
	ErrStale = errors.New("the snapshot is older than the cluster was when the backup was requested")
	// ErrChanged means that the object is not the one that was verified before.
	ErrChanged error = objstore.ContentError("the object is not the verified snapshot")
	// ErrManifest means that an object is not a manifest of this format.
	ErrManifest error = objstore.ContentError("not a manifest")
	// ErrNewerFormat means that a newer version of the suite wrote the manifest.
	ErrNewerFormat error = objstore.ContentError("the manifest has a newer format")
)

package snapshot

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// taken returns the error for a key that a foreign object uses.
func (r Request) taken(why string) error {
	return fmt.Errorf("%w: %s: delete the object or choose another path", fs.ErrExist, why)
}

// Request is what to save, and where.
type Request struct {
	// Namespace whose turn the check of the database takes.
	Namespace string
	Source    Source
	Store     objstore.Store
	// Key of the object, from Series.Key or from a user.
	Key string
	// SpoolDir is a directory with enough space for the database.
	SpoolDir string
	// Spool admits the snapshot to SpoolDir. Expected is the size of the database in bytes, as far as it is known before
	// the snapshot begins. A nil Spool admits everything.
	Spool    Spool
	Expected int64

	Cluster Cluster
	// EtcdVersion of the member behind Source.
	EtcdVersion string
	// MinRevision is a revision that the cluster had before. Save rejects an older snapshot with ErrStale, because the
	// member is behind the cluster.
	MinRevision int64
	// Time of the snapshot. Clock returns the time at which its stream has begun; may be nil.
	Time  time.Time
	Clock func() time.Time
	// Attempt identifies the request and is the same in every retry. If empty, Save never adopts an existing object.
	Attempt string
	// Backup is the name of the EtcdBackup. NoQuorum means that the member cannot reach a quorum. See Manifest.
	Backup   string
	NoQuorum bool
	// Recovery is for Manifest.Recovery. An object that an earlier try has stored does not get it.
	Recovery string
	// Since is when the first try began; this clock and the store's must roughly agree. MemberIDs are the cluster's
	// current members. Save uses both to recognise the object of an earlier try, see adopt.
	Since     time.Time
	MemberIDs []uint64
	// Again means that Key is the same in every retry of Attempt. Save must then recognise the object of an earlier try,
	// even if it is encrypted, see draft.
	Again bool
	// Signer signs the manifest; nil for none. If Signers are given, only a manifest that one of them has signed is that of an earlier try.
	Signer  *Signer
	Signers Signers
	// Tool that saves the snapshot, with its version.
	Tool string
	// Encoder encodes the object; the zero value writes a plain object.
	Encoder codec.Encoder

	// Progress is called with the number of streamed bytes; may be nil.
	Progress func(int64)
}

// Saved is a snapshot in a store.
type Saved struct {
	Manifest Manifest
	// Found means that an earlier try has written the object.
	Found bool
}

func (r Request) manifest(f facts, at time.Time) Manifest {
	m := Manifest{
		FormatVersion:  FormatVersion,
		Cluster:        r.Cluster,
		StorageVersion: f.StorageVersion,
		Revision:       f.Revision,
		Keys:           f.Keys,
		Size:           f.object.Size,
		SHA256:         f.object.SHA256,
		AuthRevision:   f.Auth.Revision,
		AuthEnabled:    f.Auth.Enabled,
		Hash:           fmt.Sprintf("%08x", f.Hash),
		CreatedAt:      at.UTC().Truncate(time.Second),
		Attempt:        r.Attempt,
		Backup:         r.Backup,
		NoQuorum:       r.NoQuorum,
		Tool:           r.Tool,
		Compression:    f.object.Compression,
		Encryption:     f.object.Encryption,
	}
	if !f.object.Plain() {
		m.PlainSize, m.PlainSHA256 = f.Size, f.SHA256
	}
	return m
}

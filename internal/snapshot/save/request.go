package save

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/codec"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// manifestOfSent returns the signed manifest of the snapshot that this try has streamed.
func (r Request) manifestOfSent(f proof.Facts) snapshot.Manifest {
	m := r.manifest(f, r.Time)
	m.EtcdVersion, m.Recovery = r.EtcdVersion, r.Recovery
	if !f.Captured.IsZero() {
		// Rounded up, so that no write after it is in the snapshot.
		m.CapturedAt = f.Captured.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second)
	}
	return r.Signer.Sign(r.Key, m)
}

// Commit writes the manifest. If there is one already, it must be of the same attempt and describe the same object: another
// process has written it, or this one has and the store's answer was lost. A manifest of another attempt belongs to another
// EtcdBackup, which deletes the snapshot by its own retention.
func (r Request) Commit(ctx context.Context, saved Saved) (Saved, error) {
	content, err := saved.Manifest.Encode()
	if err != nil {
		return Saved{}, err
	}
	err = r.Store.Put(ctx, snapshot.ManifestKey(r.Key), objstore.NewMetadata(content))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return saved, fmt.Errorf("the object is complete, and the store does not take its manifest: %w", err)
	}
	if err == nil {
		return saved, nil
	}
	there, readErr := snapshot.ReadManifest(ctx, r.Store, r.Key, r.Signers)
	if snapshot.OfSignature(readErr) {
		return Saved{}, taken(readErr.Error())
	}
	if readErr != nil {
		return Saved{}, errors.Join(err, readErr)
	}
	if there.SHA256 != saved.Manifest.SHA256 {
		return Saved{}, err
	}
	if there.Attempt != saved.Manifest.Attempt {
		return Saved{}, taken("a snapshot of " + there.CreatedAt.Format(time.RFC3339) + " has this key")
	}
	saved.Manifest = there
	return saved, nil
}

// Measured ends the work of a context from pace.With if the member hardly sends. The transport of the stores measures what is sent to them, see
// pace.Send.
type Measured struct{ Source }

// Snapshot is that of Source.
func (m Measured) Snapshot(ctx context.Context) (io.ReadCloser, int64, error) {
	stream, size, err := m.Source.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	return pace.Body(ctx, stream), size, nil
}

// taken returns the error for a key that a foreign object uses.
func taken(why string) error {
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
	Spool    proof.Spool
	Expected int64

	Cluster snapshot.Cluster
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
	Signer  *snapshot.Signer
	Signers snapshot.Signers
	// Tool that saves the snapshot, with its version.
	Tool string
	// Encoder encodes the object; the zero value writes a plain object.
	Encoder codec.Encoder

	// Progress is called with the number of streamed bytes; may be nil.
	Progress func(int64)
}

// Saved is a snapshot in a store.
type Saved struct {
	Manifest snapshot.Manifest
	// Found means that an earlier try has written the object.
	Found bool
}

func (r Request) manifest(f proof.Facts, at time.Time) snapshot.Manifest {
	m := snapshot.Manifest{
		FormatVersion:  snapshot.FormatVersion,
		Cluster:        r.Cluster,
		StorageVersion: f.StorageVersion,
		Revision:       f.Revision,
		Keys:           f.Keys,
		Size:           f.Object.Size,
		SHA256:         f.Object.SHA256,
		AuthRevision:   f.Auth.Revision,
		AuthEnabled:    f.Auth.Enabled,
		Hash:           fmt.Sprintf("%08x", f.Hash),
		CreatedAt:      at.UTC().Truncate(time.Second),
		Attempt:        r.Attempt,
		Backup:         r.Backup,
		NoQuorum:       r.NoQuorum,
		Tool:           r.Tool,
		Compression:    f.Object.Compression,
		Encryption:     f.Object.Encryption,
	}
	if !f.Object.Plain() {
		m.PlainSize, m.PlainSHA256 = f.Size, f.SHA256
	}
	return m
}

// Source is a member of etcd.
type Source interface {
	// Snapshot streams the member's database followed by its SHA-256. The stream ends with io.EOF only if it is complete.
	// size is the number of bytes that the member announces; 0 if unknown. ctx must not end before the stream is read.
	Snapshot(ctx context.Context) (stream io.ReadCloser, size int64, err error)
}

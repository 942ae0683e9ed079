package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// Source is one member of etcd.
type Source interface {
	// Snapshot streams the member's database with its SHA-256 appended, and ends
	// with io.EOF only after all of it. size is how many bytes that will be, as the
	// member announces it; 0 is unknown. ctx spans the reading too.
	Snapshot(ctx context.Context) (stream io.ReadCloser, size int64, err error)
}

// Request says what to save where.
type Request struct {
	Source Source
	Store  objstore.Store
	// Key of the object, as Series.Key makes it or as a user wrote it.
	Key string
	// SpoolDir is a directory with room for the database.
	SpoolDir string

	Cluster Cluster
	// EtcdVersion of the member that Source asks.
	EtcdVersion string
	// MinRevision is a revision that the cluster had before; a snapshot that does
	// not hold it comes from a member that is behind, and is refused.
	MinRevision int64
	// Time of the snapshot.
	Time time.Time
	// Attempt names who wants it, the same however often it is tried again. Empty
	// is nobody: then nothing that exists is ever taken for an earlier try.
	Attempt string
	// Backup is the name of the EtcdBackup that wants it, and NoQuorum says that no
	// quorum stands behind the member, see Manifest.
	Backup   string
	NoQuorum bool
	// Since is when Attempt was first made, by a clock that about agrees with the
	// store's, and MemberIDs are the cluster's members now. By both Save knows
	// what an earlier try left, see adopt.
	Since     time.Time
	MemberIDs []uint64
	// Again says that Key stays the same when Attempt is tried again, so that what an
	// earlier try left under it must be known again, also where nobody here can read it.
	Again bool
	// Tool that saves, with its version.
	Tool string
	// Encoder makes the object of the snapshot; the zero value leaves it plain.
	Encoder Encoder

	// Progress is told how many bytes have been streamed; nil tells nobody.
	Progress func(int64)
}

// Saved is a snapshot in a store.
type Saved struct {
	Manifest Manifest
	// Found says that the object was there already, left by an earlier try.
	Found bool
}

// Save takes one snapshot, proves it while it is being uploaded, and commits it by
// its manifest. It never replaces an object: where there is one that is not of
// the same attempt, the error is fs.ErrExist and nothing has changed. After any
// other error the same Request may be tried again.
func Save(ctx context.Context, r Request) (Saved, error) {
	if err := errors.Join(CheckKey(r.Key), r.Encoder.Check()); err != nil {
		return Saved{}, fmt.Errorf("save snapshot: %w", err)
	}
	saved, err := save(ctx, r)
	if err == nil {
		err = r.dropDrafts(ctx)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err) // gRPC has errors of its own for this
	}
	if err != nil {
		return Saved{}, fmt.Errorf("save snapshot %s: %w", r.Key, err)
	}
	return saved, nil
}

func save(ctx context.Context, r Request) (Saved, error) {
	// Looking first spares a large upload that could only be refused, and keeps
	// existing objects safe on a store that does not honour create-only.
	if m, found, err := r.committed(ctx); err != nil || found {
		return Saved{Manifest: m, Found: true}, err
	}
	if exists, err := r.exists(ctx); err != nil {
		return Saved{}, err
	} else if exists {
		return r.adopt(ctx, facts{})
	}
	facts, err := r.upload(ctx)
	if errors.Is(err, fs.ErrExist) {
		// Somebody was faster, or the store had done it when its answer was lost.
		return r.adopt(ctx, facts)
	}
	if err != nil {
		return Saved{}, err
	}
	return r.commit(ctx, Saved{Manifest: r.manifestOfSent(facts)})
}

// upload streams the snapshot. With fs.ErrExist it returns what was proven of the
// stream, if it was read at all.
func (r Request) upload(ctx context.Context) (facts, error) {
	spool, err := newSpool(r.SpoolDir)
	if err != nil {
		return facts{}, err
	}
	defer spool.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, size, err := r.Source.Snapshot(ctx)
	if err != nil {
		return facts{}, fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer stream.Close()
	p := newProof(stream, spool)
	p.size, p.progress, p.judge = size, r.Progress, r.judge
	body, err := r.encode(ctx, p)
	if err != nil {
		return facts{}, err
	}
	err = r.Store.Put(ctx, r.Key, body)
	switch {
	case p.failure() != nil:
		return facts{}, p.failure() // the store's error is only its echo
	case err != nil && !p.proven:
		return facts{}, err
	case err != nil:
		return r.sent(p, body), err
	case !p.proven:
		return facts{}, errors.New("the store did not read the snapshot to its end")
	}
	return r.sent(p, body), nil
}

// encode makes the object's bytes of the proof's. A plain object is the proof itself,
// which the store can read again.
func (r Request) encode(ctx context.Context, p *proof) (io.Reader, error) {
	if r.Encoder.Encoding().plain() {
		return p, nil
	}
	encoded, err := r.Encoder.encode(p)
	if err != nil {
		return nil, err
	}
	body := &sized{measured: newMeasured(encoded), hint: p.size}
	body.ended = func() error { return r.draft(ctx, r.sent(p, body)) }
	return body, nil
}

type sized struct {
	*measured
	hint  int64
	ended func() error // is asked before the end is passed on
}

// SizeHint lets a store choose its part size.
func (s *sized) SizeHint() int64 { return s.hint }

func (s *sized) Read(b []byte) (int, error) {
	n, err := s.measured.Read(b)
	if errors.Is(err, io.EOF) {
		if failed := s.ended(); failed != nil {
			err = failed
		}
	}
	return n, err
}

// sent is what was proven, and what the store was given for it.
func (r Request) sent(p *proof, body io.Reader) facts {
	f := p.facts
	if encoded, ok := body.(*sized); ok {
		f.object = object{Encoding: r.Encoder.Encoding(), Size: encoded.size, SHA256: encoded.SHA256()}
	}
	return f
}

// judge refuses a snapshot that lacks what the cluster had before.
func (r Request) judge(f facts) error {
	if f.Revision < r.MinRevision {
		return fmt.Errorf("%w: it holds revision %d and the cluster was at %d", ErrStale, f.Revision, r.MinRevision)
	}
	return nil
}

// manifestOfSent is that of what was streamed just now.
func (r Request) manifestOfSent(f facts) Manifest {
	m := r.manifest(f, r.Time)
	m.EtcdVersion = r.EtcdVersion
	return m
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
		Hash:           fmt.Sprintf("%08x", f.Hash),
		CreatedAt:      at.UTC().Truncate(time.Second),
		Attempt:        r.Attempt,
		Backup:         r.Backup,
		NoQuorum:       r.NoQuorum,
		Tool:           r.Tool,
		Compression:    f.object.Compression,
		Encryption:     f.object.Encryption,
	}
	if !f.object.plain() {
		m.PlainSize, m.PlainSHA256 = f.Size, f.SHA256
	}
	return m
}

// commit writes the manifest. Where there is one already it must be about the
// same object: it is that of a second process, or of this one when the store's
// answer was lost.
func (r Request) commit(ctx context.Context, saved Saved) (Saved, error) {
	content, err := saved.Manifest.Encode()
	if err != nil {
		return Saved{}, err
	}
	err = r.Store.Put(ctx, ManifestKey(r.Key), bytes.NewReader(content))
	if !errors.Is(err, fs.ErrExist) {
		return saved, err
	}
	there, readErr := readManifest(ctx, r.Store, r.Key)
	if readErr != nil {
		return Saved{}, errors.Join(err, readErr)
	}
	if there.SHA256 != saved.Manifest.SHA256 {
		return Saved{}, err
	}
	saved.Manifest = there
	return saved, nil
}

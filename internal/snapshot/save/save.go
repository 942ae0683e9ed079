// Package save takes a snapshot of a member, proves it while it is uploaded, and commits it. It also completes what an earlier try has stored.
package save

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
)

// Snapshot takes one snapshot, verifies it during the upload, and commits it by writing its manifest. It never replaces an
// object: if another attempt has written the key, the error is fs.ErrExist and nothing has changed. After any other
// error the caller may retry the same Request.
func Snapshot(ctx context.Context, r Request) (Saved, error) {
	if err := errors.Join(snapshot.CheckKey(r.Key), r.Encoder.Check()); err != nil {
		return Saved{}, fmt.Errorf("save snapshot: %w", err)
	}
	if r.Signer != nil && !r.Signers.Required() {
		r.Signers = r.Signer.Signers(snapshot.Anyone)
	}
	saved, err := run(ctx, r)
	if err == nil {
		err = r.dropDrafts(ctx, saved.Manifest)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err) // gRPC replaces the cause with its own error
	}
	if err != nil {
		return Saved{}, fmt.Errorf("save snapshot %s: %w", r.Key, err)
	}
	return saved, nil
}

func run(ctx context.Context, r Request) (Saved, error) {
	// Check before the upload: it avoids a large upload that the store would reject, and protects existing objects on a
	// store that ignores the create-only condition.
	if m, found, err := r.committed(ctx); err != nil || found {
		return Saved{Manifest: m, Found: true}, err
	}
	if exists, err := r.exists(ctx); err != nil {
		return Saved{}, err
	} else if exists {
		return r.adopt(ctx, proof.Facts{})
	}
	facts, err := r.upload(ctx)
	if errors.Is(err, fs.ErrExist) {
		// Another process was faster, or the store has created the object and its answer was lost.
		return r.adopt(ctx, facts)
	}
	if err != nil {
		return Saved{}, err
	}
	return r.Commit(ctx, Saved{Manifest: r.manifestOfSent(facts)})
}

// upload streams the snapshot. With fs.ErrExist it also returns the facts of the stream, if the store has read it.
func (r Request) upload(ctx context.Context) (proof.Facts, error) {
	// etcd keeps old pages of its database while a stream is open, so the snapshot waits for space before it begins.
	share, err := proof.Reserve(ctx, r.Spool, r.Expected)
	if err != nil {
		return proof.Facts{}, err
	}
	defer share.Release()
	spool, err := proof.NewSpool(r.SpoolDir)
	if err != nil {
		return proof.Facts{}, err
	}
	defer proof.Discard(spool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, size, err := r.Source.Snapshot(ctx)
	if err != nil {
		return proof.Facts{}, fmt.Errorf("%w: %w", snapshot.ErrSource, err)
	}
	defer stream.Close()
	p := proof.New(ctx, r.Namespace, stream, spool)
	if r.Clock != nil {
		p.Captured = r.Clock()
	}
	if err := share.Grow(size, 0); err != nil {
		return proof.Facts{}, err
	}
	p.Announced, p.Progress, p.Judge, p.Room = size, r.Progress, r.judge, share
	body, err := r.encode(ctx, p)
	if err != nil {
		return proof.Facts{}, err
	}
	err = r.Store.Put(ctx, r.Key, body)
	switch {
	case p.Failure() != nil:
		return proof.Facts{}, p.Failure() // the store's error only repeats it
	case err != nil && !p.Proven:
		return proof.Facts{}, err
	case err != nil:
		return r.sent(p, body), err
	case !p.Proven:
		return proof.Facts{}, errors.New("the store did not read the whole snapshot")
	}
	return r.sent(p, body), nil
}

// encode returns the bytes of the object. A plain object is the proof itself, so that the store can read it again.
func (r Request) encode(ctx context.Context, p *proof.Proof) (io.Reader, error) {
	if r.Encoder.Encoding().Plain() {
		p.Ended = func() error { return r.draft(ctx, p.Facts) }
		return p, nil
	}
	encoded, err := r.Encoder.Encode(p)
	if err != nil {
		return nil, err
	}
	body := &sized{Hashed: proof.NewHashed(encoded), hint: p.Announced}
	body.ended = func() error { return r.draft(ctx, r.sent(p, body)) }
	return body, nil
}

type sized struct {
	*proof.Hashed
	hint  int64
	ended func() error // called before Read returns io.EOF
}

// SizeHint lets a store choose its part size.
func (s *sized) SizeHint() int64 { return s.hint }

func (s *sized) Read(b []byte) (int, error) {
	n, err := s.Hashed.Read(b)
	if errors.Is(err, io.EOF) {
		if failed := s.ended(); failed != nil {
			err = failed
		}
	}
	return n, err
}

// sent returns the facts of the snapshot and of the object that was sent.
func (r Request) sent(p *proof.Proof, body io.Reader) proof.Facts {
	f := p.Facts
	if encoded, ok := body.(*sized); ok {
		f.Object = proof.Object{Encoding: r.Encoder.Encoding(), Size: encoded.Size, SHA256: encoded.SHA256()}
	}
	return f
}

// judge rejects a snapshot of another cluster, for example if the address has another one behind it meanwhile, and one that is
// older than the cluster.
func (r Request) judge(f proof.Facts) error {
	if len(r.MemberIDs) > 0 && len(f.MemberIDs) > 0 && !f.Lists(r.MemberIDs) {
		return fmt.Errorf("%w: the snapshot lists no member of cluster %s", snapshot.ErrSource, r.Cluster.ID)
	}
	if f.Revision < r.MinRevision {
		return fmt.Errorf("%w: the snapshot has revision %d and the cluster had %d", snapshot.ErrStale, f.Revision, r.MinRevision)
	}
	return nil
}

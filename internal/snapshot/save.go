package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Source is a member of etcd.
type Source interface {
	// Snapshot streams the member's database followed by its SHA-256. The stream ends with io.EOF only if it is complete.
	// size is the number of bytes that the member announces; 0 if unknown. ctx must not end before the stream is read.
	Snapshot(ctx context.Context) (stream io.ReadCloser, size int64, err error)
}

// Save takes one snapshot, verifies it during the upload, and commits it by writing its manifest. It never replaces an
// object: if another attempt has written the key, the error is fs.ErrExist and nothing has changed. After any other
// error the caller may retry the same Request.
func Save(ctx context.Context, r Request) (Saved, error) {
	if err := errors.Join(CheckKey(r.Key), r.Encoder.Check()); err != nil {
		return Saved{}, fmt.Errorf("save snapshot: %w", err)
	}
	if r.Signer != nil && !r.Signers.Required() {
		r.Signers = r.Signer.Signers(Anyone)
	}
	saved, err := save(ctx, r)
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

func save(ctx context.Context, r Request) (Saved, error) {
	// Check before the upload: it avoids a large upload that the store would reject, and protects existing objects on a
	// store that ignores the create-only condition.
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
		// Another process was faster, or the store has created the object and its answer was lost.
		return r.adopt(ctx, facts)
	}
	if err != nil {
		return Saved{}, err
	}
	return r.commit(ctx, Saved{Manifest: r.manifestOfSent(facts)})
}

// upload streams the snapshot. With fs.ErrExist it also returns the facts of the stream, if the store has read it.
func (r Request) upload(ctx context.Context) (facts, error) {
	// etcd keeps old pages of its database while a stream is open, so the snapshot waits for space before it begins.
	share, err := reserve(ctx, r.Spool, r.Expected)
	if err != nil {
		return facts{}, err
	}
	defer share.Release()
	spool, err := newSpool(r.SpoolDir)
	if err != nil {
		return facts{}, err
	}
	defer discard(spool)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, size, err := r.Source.Snapshot(ctx)
	if err != nil {
		return facts{}, fmt.Errorf("%w: %w", ErrSource, err)
	}
	defer stream.Close()
	p := newProof(ctx, r.Namespace, stream, spool)
	if r.Clock != nil {
		p.captured = r.Clock()
	}
	if err := share.Grow(size, 0); err != nil {
		return facts{}, err
	}
	p.size, p.progress, p.judge, p.room = size, r.Progress, r.judge, share
	body, err := r.encode(ctx, p)
	if err != nil {
		return facts{}, err
	}
	err = r.Store.Put(ctx, r.Key, body)
	switch {
	case p.failure() != nil:
		return facts{}, p.failure() // the store's error only repeats it
	case err != nil && !p.proven:
		return facts{}, err
	case err != nil:
		return r.sent(p, body), err
	case !p.proven:
		return facts{}, errors.New("the store did not read the whole snapshot")
	}
	return r.sent(p, body), nil
}

// encode returns the bytes of the object. A plain object is the proof itself, so that the store can read it again.
func (r Request) encode(ctx context.Context, p *proof) (io.Reader, error) {
	if r.Encoder.Encoding().Plain() {
		p.ended = func() error { return r.draft(ctx, p.facts) }
		return p, nil
	}
	encoded, err := r.Encoder.Encode(p)
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
	ended func() error // called before Read returns io.EOF
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

// sent returns the facts of the snapshot and of the object that was sent.
func (r Request) sent(p *proof, body io.Reader) facts {
	f := p.facts
	if encoded, ok := body.(*sized); ok {
		f.object = object{Encoding: r.Encoder.Encoding(), Size: encoded.size, SHA256: encoded.SHA256()}
	}
	return f
}

// judge rejects a snapshot of another cluster, for example if the address has another one behind it meanwhile, and one that is
// older than the cluster.
func (r Request) judge(f facts) error {
	if len(r.MemberIDs) > 0 && len(f.MemberIDs) > 0 && !r.listsMember(f) {
		return fmt.Errorf("%w: the snapshot lists no member of cluster %s", ErrSource, r.Cluster.ID)
	}
	if f.Revision < r.MinRevision {
		return fmt.Errorf("%w: the snapshot has revision %d and the cluster had %d", ErrStale, f.Revision, r.MinRevision)
	}
	return nil
}

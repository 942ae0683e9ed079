package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
)

// Options of a replay.
type Options struct {
	// Path of the base snapshot, with its SHA-256 at the end. The caller has verified it. Replay changes the file. If
	// Replay fails, the file is useless, and the caller deletes it.
	Path string
	// Revision to stop at.
	Revision int64
	// Chain is what the first segment must follow, as archive.Select returns it.
	Chain archive.Chain
	// Next returns the next segment, or io.EOF. Replay closes it.
	Next func(context.Context) (*archive.Reader, error)
	// Identities are those of age, one for each line.
	Identities []byte
	// FallbackTTL in seconds is for leases whose TTL the archive does not know.
	FallbackTTL int64
	// CompactAfter limits the growth of the file: after so many bytes of keys and values, Replay compacts the store to its
	// newest revision. 0 keeps all revisions.
	CompactAfter int64
}

// Result of a replay.
type Result struct {
	// Base is the revision of the database before, and Revision the one after.
	Base, Revision int64
	Events         int64
	// Leases that the keys at Revision have, and that the archive or the base knows.
	Leases int
	// Fallback are those whose TTL is not known. They got FallbackTTL.
	Fallback int
}

// Replay applies all revisions after that of the database, up to and including o.Revision. Each revision is one transaction.
// An error at a revision is an *archive.RevisionError.
func Replay(ctx context.Context, o Options) (result Result, err error) {
	// The database is mapped into memory: turn a fault on it into a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("replay into %s with etcd's storage code: it panicked: %w", o.Path, dbfile.Panicked(p))
		}
	}()
	db, err := openDatabase(o.Path)
	if err != nil {
		return Result{}, err
	}
	r := &replay{options: o, db: db, chain: o.Chain, ttl: map[int64]int64{}}
	r.result.Base = db.revision()
	err = r.run(ctx)
	if err == nil {
		r.result.Leases, r.result.Fallback, err = db.writeLeases(ctx, r.seen, r.ttl, o.FallbackTTL)
	}
	r.result.Revision = db.revision()
	if err = errors.Join(err, db.close()); err != nil {
		return r.result, err
	}
	return r.result, dbfile.AppendTrailer(o.Path)
}

type replay struct {
	options Options
	db      *database
	chain   archive.Chain
	result  Result
	seen    bool            // an event with a lease
	ttl     map[int64]int64 // by ID of the lease
	txn     *transaction    // nil between two revisions
	written int64           // bytes since the last compaction
}

func (r *replay) run(ctx context.Context) error {
	base, target := r.result.Base, r.options.Revision
	if target < base {
		return fmt.Errorf("revision %d is before that of the base snapshot, %d: choose an older snapshot", target, base)
	}
	if r.chain.Last > base {
		return &archive.RevisionError{Revision: base + 1, Err: fmt.Errorf("%w: the segments begin after revision %d, but the base snapshot ends with %d", archive.ErrCorrupt, r.chain.Last, base)}
	}
	for r.db.revision() < target {
		segment, err := r.options.Next(ctx)
		if errors.Is(err, io.EOF) {
			return &archive.RevisionError{Revision: r.db.revision() + 1, Err: fmt.Errorf("%w: the segments end before revision %d", archive.ErrCorrupt, target)}
		}
		if err != nil {
			return err
		}
		if err := errors.Join(r.segment(ctx, segment), segment.Close()); err != nil {
			return err
		}
	}
	return nil
}

// segment applies one segment. It reads the segment to its end even if the target is before that, to verify it.
func (r *replay) segment(ctx context.Context, s *archive.Reader) error {
	chain, err := r.chain.Follow(s.Key, s.Header)
	if err != nil {
		return err
	}
	if err := s.Decode(ctx, r.options.Identities); err != nil {
		return err
	}
	if from, to := s.Header.Auth(); s.Header.Last > r.db.revision() && (!r.db.auth.Keeps(from) || !r.db.auth.Keeps(to)) {
		return &archive.RevisionError{Revision: s.Header.First, Key: s.Key, Err: fmt.Errorf("users, roles or authentication have changed: the auth revision is %s and then %s, but %s in the base snapshot", from, to, r.db.auth)}
	}
	defer func() { r.txn = r.txn.abandon() }()
	for {
		event, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = r.event(ctx, event)
		}
		if err != nil {
			return named(err, s.Key)
		}
	}
	if err := r.end(ctx); err != nil {
		return named(err, s.Key)
	}
	for _, l := range s.Leases {
		r.ttl[l.ID] = l.TTL
	}
	r.chain = chain
	return nil
}

// named adds the key of the segment to an error.
func named(err error, key string) error {
	var at *archive.RevisionError
	if errors.As(err, &at) && at.Key == "" {
		return &archive.RevisionError{Revision: at.Revision, Key: key, Err: at.Err}
	}
	return err
}

func (r *replay) event(ctx context.Context, event *mvccpb.Event) error {
	revision := event.Kv.ModRevision
	if revision <= r.result.Base || revision > r.options.Revision {
		return nil
	}
	if r.txn != nil && r.txn.revision != revision {
		if err := r.end(ctx); err != nil {
			return err
		}
	}
	if r.txn == nil {
		if now := r.db.revision(); now+1 != revision {
			return &archive.RevisionError{Revision: now + 1, Err: fmt.Errorf("%w: revision %d follows revision %d", archive.ErrCorrupt, revision, now)}
		}
		r.txn = r.db.begin(revision)
	}
	r.result.Events++
	r.seen = r.seen || event.Kv.Lease != 0
	r.written += int64(len(event.Kv.Key) + len(event.Kv.Value))
	return r.txn.apply(event)
}

// end commits the revision and compares the store's revision with it.
func (r *replay) end(ctx context.Context) error {
	if r.txn == nil {
		return nil
	}
	revision := r.txn.revision
	r.txn = r.txn.end()
	if now := r.db.revision(); now != revision {
		return &archive.RevisionError{Revision: revision, Err: fmt.Errorf("%w: the store is at revision %d after it", archive.ErrCorrupt, now)}
	}
	if r.options.CompactAfter > 0 && r.written >= r.options.CompactAfter {
		r.written = 0
		return r.db.compact(ctx)
	}
	return nil
}

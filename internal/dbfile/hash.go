package dbfile

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

// KVHash is etcd's hash of a key-value store up to Revision. Two hashes are comparable only if both revisions are equal.
type KVHash struct {
	Hash            uint32
	Revision        int64
	CompactRevision int64
}

// HashKV opens a data directory that Restore has created, as a starting member does, and returns the hash of its store up
// to revision. If compactRevision is newer than the store's, HashKV first compacts the store to it, after which the
// directory must not be used for a member. As in a member, it needs about 300 bytes of memory per key.
func HashKV(ctx context.Context, dataDir string, revision, compactRevision int64) (found KVHash, err error) {
	// The database is mapped into memory: turn a fault on it into a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("open %s with etcd's storage code: it panicked: %w", dataDir, Panicked(p))
		}
	}()
	logger := PanickingLogger()
	config := backend.DefaultBackendConfig(logger)
	config.Path, config.UnsafeNoFsync = filepath.Join(dataDir, "member", "snap", "db"), true
	b := backend.New(config)
	store := mvcc.NewStore(logger, b, &lease.FakeLessor{}, mvcc.StoreConfig{
		CompactionBatchLimit: 10_000, CompactionSleepInterval: time.Nanosecond, // no other request needs a pause
	})
	defer func() { err = errors.Join(err, store.Close(), b.Close()) }()
	hash, err := hashKV(ctx, store, revision, compactRevision)
	if err != nil {
		return KVHash{}, fmt.Errorf("hash the store in %s at revision %d: %w", dataDir, revision, err)
	}
	return KVHash{Hash: hash.Hash, Revision: hash.Revision, CompactRevision: hash.CompactRevision}, nil
}

func hashKV(ctx context.Context, store mvcc.KV, revision, compactRevision int64) (mvcc.KeyValueHash, error) {
	hash, _, err := store.(interface{ HashStorage() mvcc.HashStorage }).HashStorage().HashByRev(revision)
	if err != nil || compactRevision <= hash.CompactRevision {
		return hash, err
	}
	done, err := store.Compact(traceutil.TODO(), compactRevision)
	if err != nil {
		return hash, fmt.Errorf("compact to %d: %w", compactRevision, err)
	}
	select {
	case <-done:
	case <-ctx.Done():
		return hash, context.Cause(ctx)
	}
	hash, _, err = store.(interface{ HashStorage() mvcc.HashStorage }).HashStorage().HashByRev(revision)
	return hash, err
}

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
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// KVHash is etcd's hash of a key-value store up to Revision. Two are of the same only
// where both revisions are.
type KVHash struct {
	Hash            uint32
	Revision        int64
	CompactRevision int64
}

// HashKV opens a data directory that Restore has made, as a member does when it
// starts, and hashes its store up to revision, as a member does that is asked to. It
// first compacts the store to compactRevision, where that is newer than what it is
// compacted to: the directory is for nothing else afterwards. Memory grows with the
// number of keys, some 300 bytes each, as in a member.
func HashKV(ctx context.Context, dataDir string, revision, compactRevision int64) (found KVHash, err error) {
	// The database is mapped into memory: a fault on it becomes a panic, too.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("open %s as etcd does: it gave up: %v", dataDir, p)
		}
	}()
	logger := zap.New(zapcore.NewNopCore(), zap.WithFatalHook(zapcore.WriteThenPanic))
	config := backend.DefaultBackendConfig(logger)
	config.Path, config.UnsafeNoFsync = filepath.Join(dataDir, "member", "snap", "db"), true
	b := backend.New(config)
	store := mvcc.NewStore(logger, b, &lease.FakeLessor{}, mvcc.StoreConfig{
		CompactionBatchLimit: 10_000, CompactionSleepInterval: time.Nanosecond, // nobody else waits for it
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

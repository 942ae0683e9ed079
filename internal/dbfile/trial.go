package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

var (
	// ErrDisk means that the local disk failed or is full, so a trial says nothing about the snapshot.
	ErrDisk = errors.New("local disk")
	// ErrMemory means that a trial needs more memory than it may use.
	ErrMemory = errors.New("not enough memory")
)

// MemoryOf returns about how many bytes of memory a trial of a database with that many keys needs, see ADR 41. Keys with
// several revisions need more.
func MemoryOf(keys int64) int64 { return 80<<20 + 500*keys }

// Trial is a snapshot file to restore, and the revision at which the hash of its store is computed. See HashKV.
type Trial struct {
	SnapshotPath, DataDir     string
	Revision, CompactRevision int64
	// Proven means that the caller has verified the file and its trailer.
	Proven bool
}

// TryRestore restores the snapshot into DataDir and opens the result with etcd's storage code. The member is never started.
func TryRestore(ctx context.Context, t Trial) (KVHash, error) {
	const member, peer = "restore-test", "http://restore-test.invalid:2380"
	var hash KVHash
	err := Restore(ctx, Options{
		SnapshotPath: t.SnapshotPath, DataDir: t.DataDir, Name: member, PeerURLs: []string{peer},
		InitialCluster: member + "=" + peer, Token: member, Proven: t.Proven,
	})
	if err == nil {
		hash, err = HashKV(ctx, t.DataDir, t.Revision, t.CompactRevision)
	}
	if err != nil && ctx.Err() == nil && ofDisk(err) {
		err = fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return hash, err
}

// ofDisk reports whether an error is a fault of the local disk. etcdutl does not wrap all of them.
func ofDisk(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

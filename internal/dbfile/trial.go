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
	// ErrRefused means that etcd's code has read the snapshot and cannot restore it. No other error of a trial is a fault
	// of the snapshot.
	ErrRefused = errors.New("etcd refuses the snapshot")
)

// Refused marks an error as ErrRefused without a change of its text.
func Refused(err error) error { return refusedError{err} }

type refusedError struct{ error }

func (refusedError) Is(target error) bool { return target == ErrRefused }
func (r refusedError) Unwrap() error      { return r.error }

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
	if err == nil || ctx.Err() != nil {
		return hash, err
	}
	return hash, Fault(err)
}

// Fault returns the error of a trial with its kind: ErrDisk, ErrMemory or ErrRefused.
func Fault(err error) error {
	var path *fs.PathError
	switch {
	case isErrno(err, syscall.ENOMEM):
		return fmt.Errorf("%w: %w", ErrMemory, err)
	case errors.As(err, &path), isErrno(err, diskErrors...):
		return fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return Refused(err)
}

// diskErrors are the errors of a local disk, and of a process that may open no more files.
var diskErrors = []syscall.Errno{
	syscall.ENOSPC, syscall.EIO, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.EACCES, syscall.EPERM,
}

// isErrno reports whether an error is or names one of the numbers. etcd does not wrap all of them.
func isErrno(err error, numbers ...syscall.Errno) bool {
	for _, number := range numbers {
		if errors.Is(err, number) || strings.Contains(err.Error(), number.Error()) {
			return true
		}
	}
	return false
}

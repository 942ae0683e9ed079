// Package seeder is the init container of a restored cluster's first member. It fetches the snapshot that
// restore-operator has verified, checks that it is unchanged, and creates etcd's data directory from it.
//
// One rename puts the complete data directory into place, so the process may be killed at any point and run again. A
// lock on the volume prevents two processes from running at the same time.
package seeder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/archive/standby"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Seeder creates the data directory of a member.
type Seeder struct {
	// CredentialsDir holds one file for each key of the Secret. It is seed.CredentialsDir except in tests.
	CredentialsDir string
	// SignedURLDir holds the signed URL. It is seed.SignedURLDir except in tests.
	SignedURLDir string
	// VolumeDir has the volume that is restored. It is seed.VolumeDir except in tests.
	VolumeDir string
	// PodDir has the annotations of the Pod. It is seed.PodDir except in tests.
	PodDir string
	// RetryFor is how long temporary faults are retried before Seed returns them.
	RetryFor time.Duration
	// DataRequired: the member has started before, so a data directory must be there.
	DataRequired bool
	Log          logr.Logger

	secret       map[string][]byte // what the Secret has with which a standby has opened the store
	catchUpLimit time.Duration     // replaces the constant; for tests
	restLimit    time.Duration     // replaces sourceLimit in reachesEnd; for tests
	baseComes    func()            // is called before a base is fetched; nil before a promotion

	progress progress
}

// ErrMismatch is in the error chain if the object is valid, but is not the verified one.
var ErrMismatch = source.ErrChanged

// errArguments is in the error chain if the arguments are invalid.
var errArguments = errors.New("invalid arguments")

// errDataMissing is in the error chain if the member has started before, and its data is missing.
var errDataMissing = errors.New("the volume is empty, but the member has started before")

// progressInterval is how often the progress of a download is logged.
const progressInterval = 10 * time.Second

// stagingName is a directory beside the data directory. It must be on the same volume for a rename.
const stagingName = ".etcd-seed"

// match compares the fetched object with the verified one. Their SHA-256 was compared before.
func match(r seed.Request, got v1beta2.Snapshot) error {
	if got.Size != r.Size {
		return fmt.Errorf("%s has %d bytes, but the verified snapshot has %d: %w", got.Path, got.Size, r.Size, ErrMismatch)
	}
	return nil
}

// replace renames from to to, which may exist as an empty directory, and syncs the parent directory.
func replace(from, to string) error {
	// Not os.Rename, which fails if to is a directory. The system call only fails if that directory is not empty.
	if err := syscall.Rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// progress is the progress of a Seeder. The zero value is 0 percent.
type progress struct {
	fetched atomic.Int32
	// bytes of the present try.
	bytes atomic.Int64
	// database is the file that the restore writes, and size is its final size in bytes.
	database atomic.Pointer[string]
	size     atomic.Int64
	// standby is how far a standby is; nil for a restore.
	standby atomic.Pointer[standby.Status]
	// waiting is what a planned promotion waits for, if that is a problem; empty if it is none.
	waiting atomic.Pointer[string]
}

// Package seeder is the init container of a restored cluster's first member. It fetches the snapshot that
// restore-operator has verified, checks that it is unchanged, and creates etcd's data directory from it.
//
// One rename puts the complete data directory into place, so the process may be killed at any point and run again. A
// lock on the volume prevents two processes from running at the same time.
package seeder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

// Seeder creates the data directory of a member.
type Seeder struct {
	// CredentialsDir holds one file for each key of the Secret. It is seed.CredentialsDir except in tests.
	CredentialsDir string
	// SignedURLDir holds the signed URL. It is seed.SignedURLDir except in tests.
	SignedURLDir string
	// RetryFor is how long temporary faults are retried before Seed returns them.
	RetryFor time.Duration
	// DataRequired: the member has started before, so a data directory must be there.
	DataRequired bool
	Log          logr.Logger

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

// Seed creates r.DataDir from the snapshot. It does nothing if the directory is complete already.
func (s *Seeder) Seed(ctx context.Context, r seed.Request) (err error) {
	volume := filepath.Dir(r.DataDir)
	release, err := s.lockVolume(ctx, volume)
	if err != nil {
		return err
	}
	defer release()
	staging := filepath.Join(volume, stagingName)
	if err := os.RemoveAll(staging); err != nil { // also if an earlier run was killed after it had completed the data directory
		return fmt.Errorf("remove the files of an earlier run: %w: %w", source.ErrDisk, err)
	}
	if _, err := os.Stat(filepath.Join(r.DataDir, "member")); err == nil {
		s.Log.Info("the data directory is complete already; nothing to do", "dataDir", r.DataDir)
		return nil
	}
	if s.DataRequired {
		return fmt.Errorf("%w: the snapshot is not restored again, because the member may have acknowledged writes since", errDataMissing)
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return fmt.Errorf("create a staging directory on the volume: %w: %w", source.ErrDisk, err)
	}
	defer func() {
		if remove := os.RemoveAll(staging); remove != nil && err == nil {
			err = fmt.Errorf("remove the fetched snapshot: %w: %w", source.ErrDisk, remove)
		}
	}()
	if err := enoughSpace(staging, r.Plain()); err != nil {
		return err
	}
	file, err := s.fetch(ctx, r, staging)
	if err != nil {
		return err
	}
	return s.restore(ctx, r, file, filepath.Join(staging, "data"))
}

// fetch downloads the object into a file in dir. It retries after temporary faults.
func (s *Seeder) fetch(ctx context.Context, r seed.Request, dir string) (file string, err error) {
	secret, err := mounted(s.CredentialsDir, r.Source.Secret)
	if err != nil {
		return "", err
	}
	if r.Source.Secret != "" && len(secret) == 0 {
		return "", fmt.Errorf("read Secret %s: it does not exist, or has no keys: create it", r.Source.Secret)
	}
	err = s.retry(ctx, func() error {
		started := time.Now()
		s.Log.Info("fetching the snapshot", "storageType", r.Source.StorageType, "bucket", r.Source.Bucket, "key", r.Source.Key, "bytes", r.Size)
		proven, err := s.read(ctx, r, secret, dir)
		if err != nil {
			return err
		}
		got := proven.Snapshot
		s.Log.Info("fetched and verified the snapshot", "bytes", got.Size, "sha256", got.SHA256, "took", time.Since(started).String())
		file = proven.File
		return match(r, got)
	})
	return file, err
}

// read reads the object, by its signed URL if there is one.
func (s *Seeder) read(ctx context.Context, r seed.Request, secret map[string][]byte, dir string) (source.Proven, error) {
	if r.SignedURL == "" {
		return source.ReadAgain(ctx, r.Source, source.By{Secret: secret, For: grant.Process(), Signers: snapshot.Anyone}, dir, s.fetching(), r.SHA256)
	}
	url := func() (objstore.SignedURL, error) {
		data, err := mounted(s.SignedURLDir, r.SignedURL)
		if err != nil {
			return objstore.SignedURL{}, err
		}
		return source.URLOf(data)
	}
	return source.ReadSigned(ctx, r.Source, url, secret, dir, s.fetching(), r.SHA256, r.Size)
}

// match compares the fetched object with the verified one. Their SHA-256 was compared before.
func match(r seed.Request, got v1beta2.Snapshot) error {
	if got.Size != r.Size {
		return fmt.Errorf("%s has %d bytes, but the verified snapshot has %d: %w", got.Path, got.Size, r.Size, ErrMismatch)
	}
	return nil
}

// restore creates the data directory in data and moves it into place.
func (s *Seeder) restore(ctx context.Context, r seed.Request, file, data string) error {
	started := time.Now()
	s.progress.restoring(data, r.Plain())
	err := dbfile.Restore(ctx, dbfile.Options{
		SnapshotPath:   file,
		DataDir:        data,
		Name:           r.Name,
		PeerURLs:       []string{r.PeerURL},
		InitialCluster: r.Name + "=" + r.PeerURL,
		Token:          r.Token,
		RevisionBump:   uint64(r.RevisionBump),
		MarkCompacted:  r.RevisionBump > 0,
		Proven:         true, // fetch has verified it
	})
	if err != nil && !source.Corrupt(err) {
		err = fmt.Errorf("%w: %w", source.ErrDisk, err) // all other errors are about local files
	}
	if err != nil {
		return err
	}
	if err := replace(data, r.DataDir); err != nil {
		return fmt.Errorf("move the data directory into place: %w: %w", source.ErrDisk, err)
	}
	s.Log.Info("restored the data directory", "dataDir", r.DataDir, "member", r.Name, "revisionBump", r.RevisionBump, "took", time.Since(started).String())
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

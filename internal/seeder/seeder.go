// Package seeder is what the init container of a restored cluster's first member does: it fetches the snapshot
// that restore-operator proved, proves again that it is that one, and makes etcd's data directory from it.
//
// The data directory appears by one rename, whole or not at all; so it may be killed at any moment and run again. Two
// runs on one volume come one after the other.
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
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/source"
)

// Seeder makes a data directory.
type Seeder struct {
	// CredentialsDir holds one file for each key of the Secret, seed.CredentialsDir but in tests.
	CredentialsDir string
	// RetryFor is how long faults that may pass are tried again before they are reported.
	RetryFor time.Duration
	Log      logr.Logger

	progress progress
}

// ErrMismatch is in the chain when the object is whole and is not the one that was proven.
var ErrMismatch = source.ErrChanged

// errArguments is in the chain when the arguments are wrong.
var errArguments = errors.New("wrong arguments")

// progressInterval is how often a long download says how far it is.
const progressInterval = 10 * time.Second

// stagingName is a directory beside the data directory, on the same volume.
const stagingName = ".etcd-seed"

// Seed makes r.DataDir, and does nothing where it is complete already.
func (s *Seeder) Seed(ctx context.Context, r seed.Request) (err error) {
	volume := filepath.Dir(r.DataDir)
	release, err := s.claim(ctx, volume)
	if err != nil {
		return err
	}
	defer release()
	if _, err := os.Stat(filepath.Join(r.DataDir, "member")); err == nil {
		s.Log.Info("the data directory is complete: nothing to do", "dataDir", r.DataDir)
		return nil
	}
	staging := filepath.Join(volume, stagingName)
	if err := os.RemoveAll(staging); err != nil {
		return fmt.Errorf("remove what an earlier run left: %w: %w", source.ErrDisk, err)
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return fmt.Errorf("make a place on the volume: %w: %w", source.ErrDisk, err)
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

// fetch reads the object into a file in dir, and again after a fault that may pass.
func (s *Seeder) fetch(ctx context.Context, r seed.Request, dir string) (file string, err error) {
	secret, err := credentials(s.CredentialsDir, r.Source.Secret)
	if err != nil {
		return "", err
	}
	err = s.retry(ctx, func() error {
		started := time.Now()
		s.Log.Info("fetching", "storageType", r.Source.StorageType, "bucket", r.Source.Bucket, "key", r.Source.Key, "bytes", r.Size)
		proven, err := source.ReadAgain(ctx, r.Source, secret, dir, s.fetching(), r.SHA256)
		if err != nil {
			return err
		}
		got := proven.Snapshot
		s.Log.Info("fetched and proven", "bytes", got.Size, "sha256", got.SHA256, "took", time.Since(started).String())
		file = proven.File
		return match(r, got)
	})
	return file, err
}

// match compares what came with what was proven; its SHA-256 was compared already.
func match(r seed.Request, got v1beta2.Snapshot) error {
	switch {
	case got.Size != r.Size:
		return fmt.Errorf("%s has %d bytes and %d were proven: %w", got.Path, got.Size, r.Size, ErrMismatch)
	}
	return nil
}

// restore makes the data directory in data and puts it in its place.
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
		Proven:         true, // a moment ago, while it was written
	})
	if err != nil && !source.Corrupt(err) {
		err = fmt.Errorf("%w: %w", source.ErrDisk, err) // whatever else it says is of files here
	}
	if err != nil {
		return err
	}
	if err := replace(data, r.DataDir); err != nil {
		return fmt.Errorf("put the data directory in place: %w: %w", source.ErrDisk, err)
	}
	s.Log.Info("restored", "dataDir", r.DataDir, "member", r.Name, "revisionBump", r.RevisionBump, "took", time.Since(started).String())
	return nil
}

// replace renames from to to, which may be an empty directory, and makes that last.
func replace(from, to string) error {
	// Not os.Rename, which refuses every directory; the call itself refuses those with something in them.
	if err := syscall.Rename(from, to); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

package seeder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/seed"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/source"
	"github.com/etcd-suite/etcd-operator/internal/storage/grant"
)

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
		return s.removeStandby(volume)
	}
	if s.DataRequired {
		return fmt.Errorf("%w: the snapshot is not restored again, because the member may have acknowledged writes since", errDataMissing)
	}
	if r.Follow.Cluster != "" {
		return s.follow(ctx, r)
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return fmt.Errorf("create a staging directory on the volume: %w: %w", source.ErrDisk, err)
	}
	defer func() {
		if remove := os.RemoveAll(staging); remove != nil && err == nil {
			err = fmt.Errorf("remove the fetched snapshot: %w: %w", source.ErrDisk, remove)
		}
	}()
	if r.Volume.Claim != "" {
		return fromVolume(ctx, s, r, staging)
	}
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

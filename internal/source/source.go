// Package source is one snapshot object that a restore reads: how its store is opened, and the proof that the
// object is a whole snapshot of etcd. restore-operator reads it before anything is touched, and the seed again.
package source

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/etcd-suite/etcd-operator/api/v1beta2"
	"github.com/etcd-suite/etcd-operator/internal/dbfile"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/objstore/connect"
)

var (
	// ErrConfig is in the chain when the store could not be opened: its endpoint or its Secret is wrong.
	ErrConfig = errors.New("store cannot be opened")
	// ErrDisk is in the chain when the disk here failed, or is full; the rest of the chain says nothing about the object.
	ErrDisk = errors.New("local disk")
)

// Read streams the object once into file, which is made or overwritten, and proves it. The caller removes file.
func Read(ctx context.Context, src v1beta2.RestoreSource, secret map[string][]byte, file string) (v1beta2.Snapshot, error) {
	store, err := connect.Open(ctx, connect.Location{
		Kind: connect.Kind(src.StorageType), Bucket: src.Bucket, Endpoint: src.Endpoint,
		Region: src.Region, ForcePathStyle: src.ForcePathStyle, Secret: secret,
	})
	if err != nil {
		return v1beta2.Snapshot{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return read(ctx, store, src, file)
}

func read(ctx context.Context, store objstore.Store, src v1beta2.RestoreSource, file string) (v1beta2.Snapshot, error) {
	trailer := dbfile.NewTrailer()
	if err := download(ctx, store, src.Key, file, trailer); err != nil {
		return v1beta2.Snapshot{}, err
	}
	if err := trailer.Check(); err != nil {
		return v1beta2.Snapshot{}, fmt.Errorf("%s/%s: %w", src.Bucket, src.Key, err)
	}
	info, err := dbfile.Inspect(file)
	if err != nil {
		return v1beta2.Snapshot{}, fmt.Errorf("%s/%s: %w", src.Bucket, src.Key, err)
	}
	sum := trailer.SHA256()
	return v1beta2.Snapshot{
		Path: src.Bucket + "/" + src.Key, Revision: info.Revision, Keys: info.Keys, Size: info.Size,
		SHA256: hex.EncodeToString(sum[:]), StorageVersion: info.StorageVersion,
	}, nil
}

func download(ctx context.Context, store objstore.Store, key, file string, trailer *dbfile.Trailer) error {
	body, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	defer body.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDisk, err)
	}
	_, err = io.Copy(io.MultiWriter(disk{out}, trailer), body)
	if closing := out.Close(); err == nil && closing != nil {
		err = fmt.Errorf("%w: %w", ErrDisk, closing)
	}
	return err
}

// disk marks the errors of a file.
type disk struct{ file *os.File }

func (d disk) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrDisk, err)
	}
	return n, err
}

// Corrupt says whether the object was read and is no whole snapshot.
func Corrupt(err error) bool {
	return errors.Is(err, dbfile.ErrCorrupt) || errors.Is(err, dbfile.ErrNoTrailer)
}

// Missing says whether there is no object of that key.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDisk)
}

// Final says whether the same object read again would fail the same way.
func Final(err error) bool { return Corrupt(err) || Missing(err) }

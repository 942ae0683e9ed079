package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/etcd-suite/etcd-operator/internal/archive"
	"github.com/etcd-suite/etcd-operator/internal/objstore"
	"github.com/etcd-suite/etcd-operator/internal/pace"
	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/snapshot/proof"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

// fetchedLinks are the objects of an archive in a directory, by their keys. A replay reads them there, so that a store which stalls keeps no
// memory of a replay that others wait for.
type fetchedLinks map[string]string

// Get opens a fetched object.
func (f fetchedLinks) Get(_ context.Context, key string) (io.ReadCloser, error) {
	file, err := os.Open(f[key])
	if err != nil {
		return nil, fmt.Errorf("open a fetched segment: %w", err)
	}
	return file, nil
}

// sizeOf returns how many bytes of changes the objects have.
func sizeOf(links []archive.Link) (bytes int64) {
	for _, l := range links {
		bytes += l.Header.Size
	}
	return bytes
}

// linksRoom is the room of objects in a share. reserved is the size of the share, which includes the planned bytes of the objects.
func linksRoom(share *spool.Share, reserved, planned int64) proof.Room {
	return proof.RoomFunc(func(bytes, written int64) error { return share.Grow(reserved+max(bytes-planned, 0), written) })
}

// fetchBlock is how many bytes are written to the disk at a time.
const fetchBlock = 256 << 10

// fetchLinks reads objects of an archive into a directory. Each byte is reserved before it is written.
func fetchLinks(ctx context.Context, store objstore.Getter, links []archive.Link, dir string, room proof.Room) (fetchedLinks, error) {
	fetched, total := fetchedLinks{}, int64(0)
	store = pace.Objects(ctx, store)
	for i, link := range links {
		path := filepath.Join(dir, "link-"+strconv.Itoa(i))
		n, err := fetchLink(ctx, store, link.Key, path, reserving{room, total})
		if err != nil {
			return nil, &archive.RevisionError{Revision: link.Header.First, Key: link.Key, Err: err}
		}
		fetched[link.Key], total = path, total+n
	}
	return fetched, nil
}

func fetchLink(ctx context.Context, store objstore.Getter, key, path string, room reserving) (written int64, err error) {
	body, err := store.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", snapshot.ErrDisk, err)
	}
	defer func() {
		if failed := file.Close(); failed != nil && err == nil {
			err = fmt.Errorf("%w: %w", snapshot.ErrDisk, failed)
		}
	}()
	buffer := make([]byte, fetchBlock)
	for {
		n, err := body.Read(buffer)
		if failed := room.write(file, buffer[:n], written); failed != nil {
			return written, failed
		}
		if written += int64(n); errors.Is(err, io.EOF) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
	}
}

// reserving is the room of one file after files of that many bytes.
type reserving struct {
	room   proof.Room
	before int64
}

func (r reserving) write(file io.Writer, b []byte, written int64) error {
	if err := r.room.Grow(r.before+written+int64(len(b)), r.before+written); err != nil {
		return err
	}
	if _, err := file.Write(b); err != nil {
		return fmt.Errorf("%w: %w", snapshot.ErrDisk, err)
	}
	return nil
}

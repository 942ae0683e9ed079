// Package file is an object store in a directory. It is for tests, and for clusters without a cloud that keep snapshots on
// a volume.
//
// A key is a path below the directory. Put writes an object to a temporary file, syncs it, and links it to its name, which
// fails if the name exists. So Put never replaces an object and never creates a part of one, even with several processes
// or after a crash. The file system must support hard links.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// temporary is the directory below the root for unfinished files. Keys in it are rejected, and List skips it.
const temporary = ".objstore-incomplete"

// staleAfter is the age after which an unfinished file is deleted: its process was killed.
const staleAfter = 24 * time.Hour

// Store is an objstore.Store in a directory.
type Store struct {
	dir  string
	root *os.Root
}

// Open opens the directory dir. The directory must exist: if it is missing, most likely the volume is not mounted.
func Open(dir string) (*Store, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open directory %s: %w", dir, objstore.ErrNoBucket)
	}
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", dir, err)
	}
	s := &Store{dir: dir, root: root}
	s.removeStale()
	return s, nil
}

// Put creates key from body.
func (s *Store) Put(ctx context.Context, key string, body io.Reader) error {
	if err := s.put(ctx, key, body); err != nil {
		return s.wrap("put", key, err)
	}
	return nil
}

func (s *Store) put(ctx context.Context, key string, body io.Reader) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if _, err := s.root.Lstat(key); err == nil {
		return fs.ErrExist
	}
	if err := s.root.MkdirAll(temporary, 0o700); err != nil {
		return err
	}
	name := path.Join(temporary, rand.Text())
	defer func() { _ = s.root.Remove(name) }()
	if err := s.write(ctx, name, body); err != nil {
		return err
	}
	return s.commit(ctx, name, key)
}

func (s *Store) write(ctx context.Context, name string, body io.Reader) error {
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, &reader{ctx: ctx, body: body})
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commit links the finished file to its key. It retries if a concurrent Delete has removed the empty directory that
// commit has just created.
func (s *Store) commit(ctx context.Context, name, key string) error {
	dir := path.Dir(key)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.root.MkdirAll(dir, 0o700)
		if err == nil {
			err = s.root.Link(name, key)
		}
		if err == nil {
			return s.syncUp(dir)
		}
		if _, gone := os.Stat(s.dir); gone != nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// syncUp syncs dir and all directories above it, which may be new.
func (s *Store) syncUp(dir string) error {
	for {
		f, err := s.root.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the new object and its directory were deleted meanwhile
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if dir == "." {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// Get opens key.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	f, err := s.open(ctx, key)
	if err != nil {
		return nil, s.wrap("get", key, err)
	}
	return f, nil
}

func (s *Store) open(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := errors.Join(checkKey(key), ctx.Err()); err != nil {
		return nil, err
	}
	f, err := s.root.Open(key)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, objstore.Mark(err, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &file{reader: reader{ctx: ctx, body: f}, Closer: f}, nil
}

// Delete deletes key and the directories above it that become empty.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := errors.Join(checkKey(key), ctx.Err()); err != nil {
		return s.wrap("delete", key, err)
	}
	info, err := s.root.Lstat(key)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = s.root.Remove(key)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return s.present("delete", key)
	}
	if err != nil {
		return s.wrap("delete", key, err)
	}
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if empty := s.root.Remove(dir) == nil; !empty {
			break
		}
	}
	return nil
}

// present returns an error if the store's directory itself does not exist.
func (s *Store) present(op, key string) error {
	if _, err := os.Stat(s.dir); err != nil {
		return s.wrap(op, key, err)
	}
	return nil
}

func (s *Store) removeStale() {
	f, err := s.root.Open(temporary)
	if err != nil {
		return
	}
	defer f.Close()
	infos, _ := f.Readdir(-1)
	for _, info := range infos {
		if time.Since(info.ModTime()) > staleAfter {
			_ = s.root.Remove(path.Join(temporary, info.Name()))
		}
	}
}

func (s *Store) wrap(op, key string, err error) error {
	if _, gone := os.Stat(s.dir); errors.Is(gone, fs.ErrNotExist) {
		return fmt.Errorf("%s %q in directory %s: %w", op, key, s.dir, objstore.ErrNoBucket)
	}
	return fmt.Errorf("%s %q in directory %s: %w", op, key, s.dir, err)
}

// checkKey rejects keys that are not valid as a path, or that a path would change.
func checkKey(key string) error {
	if !fs.ValidPath(key) || key == "." || strings.ContainsRune(key, 0) {
		return fmt.Errorf("key %q must be a relative path without empty, \".\" and \"..\" parts", key)
	}
	if first, _, _ := strings.Cut(key, "/"); first == temporary {
		return fmt.Errorf("key %q is in the directory for unfinished objects", key)
	}
	return nil
}

// reader fails when its context ends.
type reader struct {
	ctx  context.Context
	body io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.body.Read(p)
}

type file struct {
	reader
	io.Closer
}

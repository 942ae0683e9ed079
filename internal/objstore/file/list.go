package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/etcd-suite/etcd-operator/internal/objstore"
)

// List yields the files whose path begins with prefix.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		w := walk{ctx: ctx, fsys: s.root.FS(), prefix: prefix, yield: yield}
		if err := w.dir("."); err != nil && !errors.Is(err, errStopped) {
			yield(objstore.Object{}, s.wrap("list", prefix, err))
		}
	}
}

var errStopped = errors.New("the caller has stopped the listing")

type walk struct {
	ctx    context.Context
	fsys   fs.FS
	prefix string
	yield  func(objstore.Object, error) bool
}

func (w *walk) dir(dir string) error {
	entries, err := fs.ReadDir(w.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) && dir != "." {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	// Keys are in byte order: "a-b" comes before "a/b", so a directory sorts as its name with a slash.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	for _, entry := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(path.Join(dir, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(name string, entry fs.DirEntry) error {
	if entry.IsDir() {
		inside := name + "/"
		if name == temporary || !strings.HasPrefix(inside, w.prefix) && !strings.HasPrefix(w.prefix, inside) {
			return nil
		}
		return w.dir(name)
	}
	if !strings.HasPrefix(name, w.prefix) || !entry.Type().IsRegular() {
		return nil
	}
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	if !w.yield(objstore.Object{Key: name, Size: info.Size(), ModTime: info.ModTime()}, nil) {
		return errStopped
	}
	return nil
}

func sortName(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

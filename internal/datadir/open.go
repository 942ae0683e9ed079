package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// databasePath and logPath are etcd's names in a data directory.
	databasePath = "member/snap/db"
	logPath      = "member/wal"
	// maxNames limits how many names of a folder are read, because another party may have written them.
	maxNames = 10_000
)

// Dir is the data directory of an etcd that does not run. While it is open, no etcd starts on it, if the file system locks files.
type Dir struct {
	volume, folder string
	root           *os.Root
	database       *os.File
	size           int64
}

// Open opens the data directory in a folder of a volume. The folder may also have one data directory in it. No link leads out of the volume. The
// error is ErrInUse if an etcd has opened the directory, and ErrRefused if there is no data directory, or more than one.
func Open(volume, folder string) (*Dir, error) {
	root, err := openFolder(volume, folder)
	if err != nil {
		return nil, err
	}
	found, err := find(root, filepath.Join(volume, folder))
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	folder = filepath.Join(folder, found)
	if root, err = openFolder(volume, folder); err != nil {
		return nil, err
	}
	d := &Dir{volume: volume, folder: folder, root: root}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// openFolder opens a folder of a volume.
func openFolder(volume, folder string) (*os.Root, error) {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	inside, err := root.OpenRoot(filepath.Join(".", folder))
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	return inside, nil
}

func (d *Dir) open() (err error) {
	if d.database, d.size, err = openRegular(d.root, databasePath); err != nil {
		return err
	}
	if err := lockShared(d.database); err != nil {
		return fmt.Errorf("lock the database in %s: %w", d.Path(), err)
	}
	return nil
}

// Path is where the data directory was found.
func (d *Dir) Path() string { return filepath.Join(d.volume, d.folder) }

// Size is how many bytes the database has.
func (d *Dir) Size() int64 { return d.size }

// Close lets an etcd start again.
func (d *Dir) Close() error {
	if d.database == nil {
		return d.root.Close()
	}
	return errors.Join(d.database.Close(), d.root.Close())
}

// openRegular opens a file for reading, and refuses what is none, for example a pipe, which would have no end.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	refuse := func(info fs.FileInfo) error {
		return fmt.Errorf("%w: %s is no regular file (%s)", ErrRefused, name, info.Mode())
	}
	info, err := root.Stat(name) // to open a pipe waits for its writer
	if err == nil && !info.Mode().IsRegular() {
		err = refuse(info)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", name, err)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", name, err)
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = refuse(info)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open %s: %w", name, err), file.Close())
	}
	return file, info.Size(), nil
}

// find returns the folder of the data directory: this one, or the only one in it. at is how messages name it.
func find(root *os.Root, at string) (string, error) {
	names, err := namesIn(root, ".")
	if err != nil {
		return "", err
	}
	if is, err := isDataDir(root, "."); is || err != nil {
		return ".", err
	}
	var found []string
	var closed error
	for _, name := range names {
		is, err := isDataDir(root, name)
		if is {
			found = append(found, name)
		}
		if err != nil && name != "lost+found" { // mkfs makes that one for root only
			closed = err
		}
	}
	switch {
	case len(found) == 0 && closed != nil:
		return "", closed
	case len(found) == 0:
		return "", fmt.Errorf("%w: neither %s nor a folder in it has the file %s of an etcd. Name the folder in which the folder member is", ErrRefused, at, databasePath)
	case len(found) == 1:
		return found[0], nil
	}
	slices.Sort(found)
	return "", fmt.Errorf("%w: %s has the data directories of several members: %s. Name one of them", ErrRefused, at, listed(found))
}

// isDataDir reports whether a folder has the database of an etcd. The error is that of a folder that another user owns: etcd permits only its own user.
func isDataDir(root *os.Root, name string) (bool, error) {
	info, err := root.Stat(path.Join(name, databasePath))
	if errors.Is(err, fs.ErrPermission) {
		return false, fmt.Errorf("look for the database of an etcd: %w", err)
	}
	return err == nil && !info.IsDir(), nil
}

// listed names the first ones.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// namesIn returns the names in a folder.
func namesIn(root *os.Root, name string) ([]string, error) {
	folder, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	defer folder.Close()
	names, err := folder.Readdirnames(maxNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the names in %s: %w", name, err)
	}
	if len(names) > maxNames {
		return nil, fmt.Errorf("%w: %s has more than %d files", ErrRefused, name, maxNames)
	}
	return names, nil
}

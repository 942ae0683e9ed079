package standby

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The files of a follower, beside the links.
const (
	DatabaseName  = "db"        // the database of the follower
	importedName  = "imported"  // a database that is not complete
	baseName      = "base"      // the snapshot that it is made of
	deliveredName = "delivered" // what Finish has returned
)

// linkPrefix begins the names of links that were fetched, and partName is one that is not complete.
const linkPrefix, partName = "link-", "part"

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// removeFile removes a file that may not exist.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sector divides the size of every database, so that the SHA-256 at the end of a snapshot can be recognised.
const sector = 512

// dropTrailer removes the SHA-256 at the end of a snapshot.
func dropTrailer(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Size()%sector == sha256.Size {
		err = os.Truncate(path, info.Size()-sha256.Size)
	}
	return err
}

// appendTrailer appends the SHA-256 of a file to it.
func appendTrailer(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err == nil {
		_, err = file.Write(sum.Sum(nil))
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// removeLinks removes all links on the disk, except for one.
func removeLinks(dir, except string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), linkPrefix) && path != except {
			err = errors.Join(err, removeFile(path))
		}
	}
	return err
}

package proof

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcd-suite/etcd-operator/internal/snapshot"
	"github.com/etcd-suite/etcd-operator/internal/spool"
)

func diskError(err error) error { return fmt.Errorf("%w: %s", snapshot.ErrDisk, err.Error()) }

// Spool admits work to a spool directory, see spool.Spool.
type Spool interface {
	Reserve(ctx context.Context, bytes int64) (*spool.Share, error)
}

// Reserve reserves space. Without a Spool it reserves nothing, and the Share is nil.
func Reserve(ctx context.Context, s Spool, bytes int64) (*spool.Share, error) {
	if s == nil {
		return nil, nil
	}
	share, err := s.Reserve(ctx, bytes)
	if errors.Is(err, fs.ErrNotExist) {
		err = diskError(err) // the directory is missing, and not an object of the store
	}
	return share, err
}

// The names in a spool directory: a snapshot that is being saved or read back, a fetched snapshot, and the directory of a
// restore test.
const (
	spoolPattern       = "spool-*.db"
	fetchPattern       = "fetch-*.db"
	restoreTestPattern = "restore-test-*"
)

// NewSpool creates a file. The file keeps its name, because the kubelet does not count files without a name against the
// size limit of a volume. CleanSpool deletes the file of a killed process.
func NewSpool(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, spoolPattern)
	if err != nil {
		return nil, diskError(err)
	}
	return f, nil
}

// Discard closes and deletes a file of newSpool.
func Discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// CleanSpool deletes the files of killed processes in dir. Call it once at start, while no other process uses dir.
func CleanSpool(dir string) error {
	var errs []error
	for _, pattern := range []string{spoolPattern, fetchPattern, restoreTestPattern} {
		names, err := filepath.Glob(filepath.Join(globEscape(dir), pattern))
		errs = append(errs, err)
		for _, name := range names {
			if err := os.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return diskError(err)
	}
	return nil
}

// globEscape escapes a directory's name for use in a pattern.
func globEscape(dir string) string {
	var escaped []rune
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			escaped = append(escaped, '\\')
		}
		escaped = append(escaped, r)
	}
	return string(escaped)
}
